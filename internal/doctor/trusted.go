package doctor

import (
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// trustedProgram passes a TCP socket to a global function that reads from it. The kernel verifies
// such a function separately and knows only the declared size of its argument. Memory beyond that
// size is readable only if a tag marks the argument as a trusted kernel pointer (Linux 6.9).
func trustedProgram(tags ...string) asm.Instructions {
	const declared, family = 8, 16 // sizeof of the declaration; sock_common.skc_family
	integer := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	function := func(name, param string, target btf.Type, tags ...string) *btf.Func {
		return &btf.Func{Name: name, Linkage: btf.GlobalFunc, ParamTags: [][]string{tags}, Type: &btf.FuncProto{
			Return: integer, Params: []btf.FuncParam{{Name: param, Type: &btf.Pointer{Target: target}}},
		}}
	}
	begin := asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord).WithSymbol("airtide_doctor") // the first argument: struct sock *
	read := asm.LoadMem(asm.R0, asm.R1, family, asm.Half).WithSymbol("read_trusted")
	return asm.Instructions{
		btf.WithFuncMetadata(begin, function("airtide_doctor", "ctx", &btf.Void{})),
		asm.FnSkcToTcpSock.Call(),
		asm.JEq.Imm(asm.R0, 0, "done"),
		asm.Mov.Reg(asm.R1, asm.R0),
		asm.Call.Label("read_trusted"),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("done"),
		asm.Return(),
		btf.WithFuncMetadata(read,
			function("read_trusted", "tp", &btf.Struct{Name: "tcp_sock", Size: declared}, tags...)),
		asm.Return(),
	}
}
