package k8s

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/k8s/lint"
	k8smanifest "github.com/rdmakit/rdmakit/k8s/manifest"
)

// noSettings is the name of a settings file that stands for none.
const noSettings = "none"

// readLintSettings reads a settings file, by default that of the repository.
func readLintSettings(name string) (lint.Settings, error) {
	if name == "" {
		name = findLintSettings()
	}
	if name == "" || name == noSettings {
		return lint.Settings{}, nil
	}
	data, err := k8smanifest.ReadFile(name, nil)
	if err != nil {
		return lint.Settings{}, cli.InputError(fmt.Errorf("--settings: %w", err))
	}
	settings, err := lint.ParseSettings(name, data)
	if err != nil {
		return settings, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	return settings, nil
}

// findLintSettings looks for the settings file in the working directory and above it, up to the
// root of a repository. It returns "" if there is none.
func findLintSettings() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for prefix := ""; ; prefix = filepath.Join("..", prefix) {
		name := filepath.Join(prefix, lint.SettingsFile)
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return name
		}
		if _, err := os.Lstat(filepath.Join(prefix, ".git")); err == nil || dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}
