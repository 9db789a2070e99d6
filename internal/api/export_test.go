package api

import (
	"fmt"
	"slices"
)

// RoutesForTest lists the routes.
func RoutesForTest() []string {
	var out []string
	for i := range routes {
		query := slices.Sorted(slices.Values(routes[i].query))
		out = append(out, fmt.Sprintf("%s %s %v body:%t", routes[i].method, routes[i].path, query, routes[i].body > 0))
	}
	slices.Sort(out)
	return out
}

// MaxShareForTest is how many requests of one tenant are worked on at a time.
const MaxShareForTest = maxShare
