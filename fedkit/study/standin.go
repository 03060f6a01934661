package study

import "fedkit.example/fedkit"

var loadLight = fedkit.Load
