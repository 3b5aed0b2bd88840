// Package scenario makes inputs for the control of the sharing agent: a cell whose terminals run it
// in a closed loop, and random inputs without any loop. Tests use it to compare, to check
// properties, and to find out which constants matter.
package scenario
