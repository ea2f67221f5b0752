package lint

import "strings"

// Form is how a file writes down variables.
type Form string

// The forms.
const (
	FormAuto       Form = "auto"       // recognised by the content
	FormShell      Form = "sh"         // assignments as a shell reads them: export A=b, A='b' command
	FormDotenv     Form = "dotenv"     // NAME=value lines, quotes are dropped
	FormDocker     Form = "docker"     // docker's --env-file: quotes stay
	FormSystemd    Form = "systemd"    // EnvironmentFile of a unit
	FormEnv        Form = "env"        // what env(1) prints: values as they are
	FormEnviron    Form = "environ"    // /proc/PID/environ, env -0
	FormJSON       Form = "json"       // one object of names and values
	FormKubernetes Form = "kubernetes" // manifests in YAML or JSON
)

// Forms returns all forms.
func Forms() []Form {
	return []Form{
		FormAuto, FormShell, FormDotenv, FormDocker, FormSystemd, FormEnv, FormEnviron, FormJSON, FormKubernetes,
	}
}

// Environment is a set of variables that a process gets, or would get.
type Environment struct {
	Name     string    // what a person calls it
	Form     Form      // how it was written
	Settings []Setting // in order; of equal names the last counts
}

// Setting is a variable with a value.
type Setting struct {
	Name, Value string // as they were read
	File        string // where it stands; "" for the environment itself
	Line        int    // from 1; 0 where there are no lines
	// Unknown reports whether the value depends on something else: an expansion, a secret.
	Unknown bool
}

// FromPairs makes an environment of NAME=value strings, as a process has them.
func FromPairs(name string, form Form, pairs []string) Environment {
	env := Environment{Name: name, Form: form}
	for _, pair := range pairs {
		if key, value, ok := strings.Cut(pair, "="); ok && key != "" {
			env.Settings = append(env.Settings, Setting{Name: key, Value: value})
		}
	}
	return env
}
