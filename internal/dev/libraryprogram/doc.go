// Command libraryprogram is the program of docs/library.md, so that it is compiled and
// its tests run with all others. It uses pretext as another module would: it imports no
// internal package.
package main
