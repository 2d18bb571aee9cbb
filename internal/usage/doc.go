// Package usage reports the CPU time and the peak memory of this process.
package usage
