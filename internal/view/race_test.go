//go:build race

package view

func init() { checks = "4" }
