// Package sources has the sources of the packages whose types and options package catalog lists, so that what it says of
// them is what their comments say.
package sources

import "embed"

// Files are the Go files, by path. Tests are left out: first all names that do not end in t, then those in t, but not st,
// and so on. A test of the catalog finds what is missing.
//
//go:embed datasets/*[^t].go datasets/partition/*[^t].go fedkit/*[^t].go fedkit/aggregate/*[^t].go fedkit/attack/*[^t].go
//go:embed fedkit/catalog/*[^t].go fedkit/cluster/*[^t].go fedkit/examples/*[^t].go fedkit/metric/*[^t].go
//go:embed fedkit/model/*[^t].go fedkit/selection/*[^t].go fedkit/server/*[^t].go fedkit/strategy/*[^t].go
//go:embed datasets/*[^s]t.go datasets/partition/*[^s]t.go fedkit/*[^s]t.go fedkit/catalog/*[^s]t.go fedkit/cluster/*[^s]t.go
//go:embed fedkit/selection/*[^s]t.go fedkit/strategy/*[^s]t.go
//go:embed datasets/*[^e]st.go datasets/partition/*[^t]est.go fedkit/*[^e]st.go fedkit/aggregate/*[^t]est.go
//go:embed fedkit/catalog/*[^t]est.go
var Files embed.FS
