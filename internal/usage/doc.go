// Package usage says what this process has used of the machine.
package usage
