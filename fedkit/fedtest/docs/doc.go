// Package docs tests that what the documentation prints and links is there and runs.
package docs
