// Package result reads and writes the data of runs on disk. A run is finished once it has a
// result.json. A folder has the runs of one experiment.
//
//	DIR/<experiment>/<YYYYMMDD-HHMMSS>/
//	    experiment.yaml          the experiment
//	    plan.json                its points and runs
//	    runs/<run>/result.json   a finished run, beside its series, recordings, captures and tools' output
//	    attempts/<run>/<n>/      a failed or interrupted attempt, with reason.txt
//
// The name has the time of the start in UTC. A finished run is never overwritten. The package starts
// no process and reads nothing but these folders.
package result
