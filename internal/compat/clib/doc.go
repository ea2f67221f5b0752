// Package clib is what compatible programs need of the C library, with its results on every input
// and its words in every message: getopt_long(3), strtol(3), strtoul(3), strerror(3).
//
//	g := clib.NewGetopt(args, []clib.Option{clib.Flag("list", 'l')})
//	for letter, arg, ok := g.Next(); ok; letter, arg, ok = g.Next() { … }
//	operands := g.Operands
package clib
