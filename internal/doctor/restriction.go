package doctor

import (
	"fmt"

	"airtide/internal/sys/privilege"
)

// restrictionChecks are the means by which verbs give up rights that they do not need.
var restrictionChecks = []check{
	{
		name:   "seccomp_filters",
		group:  groupPrivileges,
		probe:  func(*machine) finding { return seccompFilters(privilege.Examine()) },
		loss:   "a running verb keeps all system calls",
		remedy: "a kernel with CONFIG_SECCOMP_FILTER=y",
	},
	{
		name:   "landlock",
		group:  groupPrivileges,
		probe:  func(*machine) finding { return landlock(privilege.Examine()) },
		loss:   "a verb that reads a recording or a result can open all files of its user",
		remedy: "kernel 5.13 or newer with CONFIG_SECURITY_LANDLOCK=y, booted with landlock in lsm=",
	},
}

func seccompFilters(a privilege.Available) finding {
	if !a.Filters {
		return missing("not in this kernel, or another filter forbids them")
	}
	return ok("")
}

func landlock(a privilege.Available) finding {
	if a.Landlock == 0 {
		return missing("not in this kernel, or switched off")
	}
	return ok(fmt.Sprintf("version %d", a.Landlock))
}
