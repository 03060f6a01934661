//go:build race

package xla

// raceDetector says that the program was built with -race.
const raceDetector = true
