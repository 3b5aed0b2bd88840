// Package run runs experiments: for each run of a plan it sets up the cell and its machines, starts what is to be
// recorded, sends the traffic, and keeps what all of them tell as one result. Runs that were finished are kept whatever
// happens later, and what is missing can be done another time.
package run
