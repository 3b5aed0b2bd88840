package main

import (
	"cmp"
	"os"
)

// part is a row of the table: a feature of airtide, and its oldest kernel.
type part struct {
	name string
	// since is the first kernel that offers it, empty for all that are tried; refused is tried on
	// those before.
	since   string
	steps   []step
	refused []step
	// Parts of doctor's report that must agree: a verb, by any or one of its ways, a check, or
	// both.
	verb, way, check string
}

// parts are the rows.
var parts = []part{
	observedBy("tp_btf_trusted", "6.9", ""), // no check of doctor's: where it is not, tp_btf takes its place
	observedBy("tp_btf", "", "tp_btf"),
	observedBy("raw_tp", "", "raw_tp"),
	{
		name: "monitor by BPF: what it tells", verb: "monitor", way: "bpf",
		steps: []step{{
			tests: "bpf", run: []string{
				"TestDensities",
				"TestIdleConnectionsAreKnownFromTheStart",
				"TestBBRsStateAgreesWithTheKernel",
				"TestEnumerationsEqualThoseOfPackageTCP",
				"TestAddressesKeepTheSocketsFamily",
				"TestNothingIsLeftAfterClose",
				"TestRefusals",
				"TestAttemptsThatFail/(refused$|unreachable|by_the_kernel)",
				"TestEachEndHasItsReason/(client_closes|client_resets|nobody)",
				"TestFiltersLetThroughExactlyTheirFlows/(port|within_a_byte|all_lists)",
				"TestEachErrorIsToldByItsEvents/(DSACK|F-RTO|tail-loss|refus|marks|MTU|late_segment)",
			},
			env: []string{formVariable + "=tp_btf"},
		}, {script: "airtide monitor --source bpf --once --json | head -n 3"}},
	},
	{
		name: "monitor by inet_diag", check: "inet_diag",
		steps: []step{{
			tests: "diag", run: []string{
				"TestTransferIsSampledInEveryAddressFamily",
				"TestOpenAndCloseAreSeenWithTheirReason",
				"TestKernelFilterAgreesWithFilterMatch",
				"TestBBRShowsItsPrivateState",
				"TestListenersAreNoFlows",
			},
		}, {script: recorded("--source diag --poll 10ms"), says: []string{"^source inet_diag", "^lost records +-$"}}},
	},
	{
		name: "record, info, export", verb: "record", way: "bpf",
		steps: []step{
			{
				script: recorded("--source bpf --attach tp_btf"),
				says:   []string{`^source bpf \(tp_btf`, "^ *acked", "lost records +none"},
			},
			{
				script: recorded("--source bpf --attach raw_tp"),
				says:   []string{`^source bpf \(raw_tp`, "^ *acked", "lost records +none"},
			},
			{
				script: recorded("--source bpf --with all"),
				says: []string{
					"^ *acked", `^merged +\d+ segments arrived as \d`, "^not seen +UDP", "lost records +none",
				},
			},
			{script: "set -e\nairtide export /tmp/a.atr --to csv --table samples -o - >/tmp/a.csv\n" +
				"wc -l </tmp/a.csv", says: []string{`^[1-9]\d+$`}},
		},
	},
	{
		name: "tune", since: "5.16", verb: "tune",
		steps: []step{
			{tests: "tune", run: []string{
				"TestTheSocketOptionOverwritesSsthresh",
				"TestTheNextTuneRestoresSocketsOfAKilledOne",
				"TestCongestionControlComesAndGoes",
				"TestEverySettingComesAndGoes/(pacing|send_buffer|notsent|min_rto)",
			}},
			{script: "airtide tune --cwnd-max 8 --pacing-rate 100M -- " + transfer, says: []string{carriedText}},
			{script: "airtide tune show"},
		},
		refused: []step{{
			script: "airtide tune --port 7000 --cwnd-max 8 -- true", fails: true,
			says: []string{"5\\.16"},
		}},
	},
	{
		name: "congestion controls", since: "6.4", verb: "cc",
		steps: []step{
			{tests: "congestion", run: []string{
				"TestEachKindIsChosenCarriesTrafficAndReactsToLoss",
				"TestPinnedOutlivesWhoLoadedItUntilItIsUnloaded",
				"TestUnloadingWhileSocketsUseIt",
				"TestBoundsHoldAndLiftingThemRestoresTheFlow",
				"TestCubicPlainIsTheKernelsCubicStepByStep",
				"TestOlderKernelsAreTold",
			}},
			{script: loadedScript, says: []string{carriedText, "cubic_rtt", "afterwards 0"}},
		},
		refused: []step{{script: "airtide cc load cubic_rtt -- true", fails: true, says: []string{"6\\.4"}}},
	},
	{
		name: "tune by `cubic_bound`", since: "6.4", check: "struct_ops_link",
		steps: []step{{tests: "tune", run: []string{
			"TestCubicBoundKeepsSsthresh",
			"TestNewSocketsOfCubicBoundAreBounded",
			"TestCongestionControlAndBoundsTogether",
		}}},
		refused: []step{{script: "airtide cc load cubic_bound -- true", fails: true, says: []string{"6\\.4"}}},
	},
	{
		name: "share", since: "6.4", verb: "share",
		steps: []step{{tests: "share", run: []string{
			"TestBoundsOfAKilledAgentEnd",
		}}},
		refused: []step{{
			script: "airtide share key -o /tmp/cell.key && airtide share run --key /tmp/cell.key --interface " +
				"lo", fails: true, says: []string{"6\\.4"},
		}, {
			// It observes only, and bounds nothing.
			script: observedScript, says: []string{"^[{].*observe", "^it ended with 0$"},
		}},
	},
	{
		name: "cell", verb: "cell",
		steps: []step{
			{
				tests: "engine", run: []string{
					"TestARefusedPacketIsCode2",
					"TestAFullQueueBlocksTheSender",
					"TestNothingIsLeftWhateverEndsAnEngine",
					"TestBytesArriveIntact/^read_and_written_as_super-packets$",
				},
			},
			{tests: "cell", run: []string{
				"TestStoppedCellLeavesNothing",
			}},
			{
				script: "set -e\nairtide record -q -f -o /tmp/cell.atr -- airtide cell run " + cellFile + " -- sh " +
					"/cell\nairtide info /tmp/cell.atr\necho left: $(ls /run/netns | wc -l)",
				says: []string{
					carriedText, "^phone: 3 packets received", "^shy: 3 packets received",
					"lost records +none", "^left: 0",
				},
			},
		},
	},
	{
		name: "timewarp", verb: "timewarp",
		steps: []step{
			{
				tests: "timewarp",
				run: []string{
					"TestModuleClockRate",
					"TestModuleRTO",
					"TestModuleInitialRTO",
					"TestModuleClockNeverGoesBack",
					"TestModuleFollowsProcessorsThatComeAndGo",
					"TestModuleRefusesWrongRatios",
					"TestModuleIsRealAgainWhenAnotherClockSourceIsSelected",
					"TestModuleRunsACommand",
					"TestModuleIsUndoneWhenItsRunIsKilled",
					"TestModuleSurvivesSuspend",
				},
				env: []string{
					fromEnvironment("AIRTIDE_TIMEWARP_CHANGES", "60"),
					fromEnvironment("AIRTIDE_TIMEWARP_READINGS", "100000"),
				}, limit: 2 * usualLimit,
			},
			{script: warpedScript, says: []string{"^ratio now 10$", "^run ends with 7$", "^afterwards not loaded$"}},
		},
	},
	{
		name: "timewarp `--scaled-cubic`", since: "6.4", verb: "timewarp", check: "struct_ops_link",
		steps: []step{{script: "airtide timewarp run -N 5 --scaled-cubic -- cat " +
			"/proc/sys/net/ipv4/tcp_congestion_control", says: []string{"^timewarp_cubic$"}}},
		refused: []step{{
			script: "airtide timewarp run -N 5 --scaled-cubic -- true", fails: true,
			says: []string{"Linux 6\\.4"},
		}},
	},
}

// fromEnvironment is a variable of the environment for a guest, as it is here or as it usually is.
func fromEnvironment(name, usual string) string { return name + "=" + cmp.Or(os.Getenv(name), usual) }

// formVariable names to the tests of package internal/observe/bpf the one way to attach that they
// try.
const formVariable = "AIRTIDE_BPF_TEST_FORM"

// observedBy is the monitor by one of the ways to attach its programs.
func observedBy(way, since, check string) part {
	return part{
		name: "monitor by BPF, " + way, since: since, check: check,
		steps: []step{{
			tests: "bpf", run: []string{
				"TestEverySegmentIsSampled",
				"TestSamplesAgreeWithTCPInfo",
				"TestEachErrorIsToldByItsEvents/(a_lost_segment|every_timeout_in_a_row)",
			},
			env: []string{formVariable + "=" + way},
		}},
	}
}

// recorded is a transfer that is recorded and summed up.
func recorded(flags string) string {
	return "set -e\nairtide record -q -f " + flags + " -o /tmp/a.atr -- " + transfer + "\nairtide info /tmp/a.atr"
}
