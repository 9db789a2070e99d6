module github.com/oriel-context/oriel/bench/fit

go 1.26.0

require (
	github.com/oriel-context/oriel v0.0.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/andybalholm/brotli v1.2.7 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
)

replace github.com/oriel-context/oriel => ../..
