package cause

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"

	"airtide/internal/sys/file"
)

// File is the name of a situation's recording or file without its suffix.
func (s *Situation) File() string { return fmt.Sprintf("%s-%d", s.Name, s.Seed) }

// Write writes the situation as YAML into a folder.
func (s *Situation) Write(folder string) error {
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := e.Encode(s); err != nil {
		return err
	}
	return file.Write(filepath.Join(folder, s.File()+SituationsFile), text.Bytes(), 0o644)
}

// Read reads the situations of a folder.
func Read(folder string) ([]Situation, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*"+SituationsFile))
	if err != nil {
		return nil, err
	}
	all := make([]Situation, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		if err := d.Decode(&all[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return all, nil
}
