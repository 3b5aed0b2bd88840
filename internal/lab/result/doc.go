// Package result reads and writes the data of runs on disk. A run is finished if its folder has a
// result.json. A result folder contains the runs of one experiment.
//
//	DIR/<experiment>/<YYYYMMDD-HHMMSS>/
//	    experiment.yaml          the experiment
//	    plan.json                its points and runs
//	    runs/<run>/result.json   a finished run; its series, recordings and output are beside it
//	    attempts/<run>/<n>/      a failed or interrupted attempt, with reason.txt
//
// The folder's name is the start time in UTC. A finished run is never overwritten. The package
// starts no process and accesses only these folders.
package result
