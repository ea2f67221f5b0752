// Package clib implements functions of the C library for compatible programs, with the same results
// and messages: getopt_long(3), strtol(3), strtoul(3), strerror(3).
//
//	g := clib.NewGetopt(args, []clib.Option{clib.Flag("list", 'l')})
//	for letter, arg, ok := g.Next(); ok; letter, arg, ok = g.Next() { … }
//	operands := g.Operands
package clib
