// Package bench tests that every benchmark below it runs.
package bench
