module github.com/oriel-context/oriel/bench/keyword

go 1.26.0

require github.com/oriel-context/oriel v0.0.0

replace github.com/oriel-context/oriel => ../..
