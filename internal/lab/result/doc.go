// Package result is what runs leave on disk: the types of result.json, which is written last and
// says that a run is finished, and the folder that holds the runs of one experiment.
//
//	DIR/<experiment>/<YYYYMMDD-HHMMSS>/
//	    experiment.yaml          the file as it was run
//	    plan.json                its points and runs, worked out
//	    runs/<run>/result.json   a finished run, with its series, recordings, captures and the tools' own output beside it
//	    attempts/<run>/<n>/      what failed or was interrupted, with reason.txt
//
// The time in the name is that of the start in UTC. A finished run is never overwritten. Besides
// locks, the package knows no other process: it starts nothing and reads nothing but these folders.
package result
