package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"runtime/debug"
)

// bom is a bill of materials, CycloneDX 1.6.
type bom struct {
	Format     string      `json:"bomFormat"`
	Version    string      `json:"specVersion"`
	Revision   int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl,omitempty"`
}

// bomOf lists the modules of a program and its Go standard library.
func bomOf(info *debug.BuildInfo) bom {
	b := bom{
		Format: "CycloneDX", Version: "1.6", Revision: 1,
		Metadata: metadata{component{Type: "application", Ref: info.Main.Path, Name: info.Main.Path}},
		Components: []component{{
			Type: "library", Ref: "std", Name: "std", Version: info.GoVersion,
			PURL: "pkg:golang/std@" + info.GoVersion,
		}},
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		b.Components = append(b.Components, component{"library", purl, m.Path, m.Version, purl})
	}
	return b
}

// writeSBOM writes the bill of materials of a program.
func writeSBOM(binary, path string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(bomOf(info), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
