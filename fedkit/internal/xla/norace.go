//go:build !race

package xla

const raceDetector = false
