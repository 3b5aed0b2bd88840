// Package scenario makes random inputs for the control of the sharing agent, for tests of its
// properties and of its recordings. Package simulate has cells in a closed loop.
package scenario
