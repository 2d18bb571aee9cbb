// Package lua runs Lua 5.1 programs in a sandbox, for the modules of wikis.
//
//	chunk, err := lua.Compile("Module:X", source)
//	m := lua.NewMachine(lua.Limits{Steps: 1e7, Bytes: 64 << 20})
//	results, err := m.Run(chunk, env)
//
// A program can reach its arguments and the functions that the caller puts into its
// environment, and nothing else: no file, clock or network. What it does depends on
// nothing else either: tables are traversed in the order in which their keys were added,
// and random numbers are seeded by the caller. So the same program has the same result
// everywhere.
//
// # Limits
//
// A [Machine] counts steps and bytes. A step is about one node of the program's syntax
// tree, or 64 bytes that a library function reads; bytes are those of all strings, tables
// and functions that the program makes, whether still in use or not. A program beyond its
// limits, or nested too deeply, ends with a [Failure], which it cannot catch. Time plays no
// part, so a program that ends this way does so on every machine, at the same step.
//
// # Language
//
// Programs are compiled to closures, one for each node. It is Lua 5.1 as the Lua Reference
// Manual describes it, with these differences: there are no coroutines, no package,
// io and debug libraries, no bytecode, and no goto. A tail call counts as nesting.
// The metamethods __pairs and __ipairs of Lua 5.2 work, as they do in the wikis' Lua.
//
// Existing interpreters in Go were not used because they cannot be bounded this way: one
// instruction that joins strings, fills an array or compares long strings takes any
// amount of memory or time.
package lua
