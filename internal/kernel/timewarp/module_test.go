package timewarp

// These tests need a kernel that loads the module, and change its time: scripts/test-timewarp runs
// them in a virtual machine. The module's file is in this variable of the environment.
const moduleVariable = "AIRTIDE_TIMEWARP_MODULE"
