package lint

import "strings"

// Form is the format of a file with variables.
type Form string

// The forms.
const (
	FormAuto       Form = "auto"       // recognised by the content
	FormShell      Form = "sh"         // assignments as a shell reads them: export A=b, A='b' command
	FormDotenv     Form = "dotenv"     // NAME=value lines, quotes are removed
	FormDocker     Form = "docker"     // docker's --env-file: quotes are kept
	FormSystemd    Form = "systemd"    // EnvironmentFile of a unit
	FormEnv        Form = "env"        // the output of env(1): values without quoting
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

// Environment is a set of variables for a process.
type Environment struct {
	Name     string    // for messages
	Form     Form      // how it was written
	Settings []Setting // in order; for equal names the last applies
	// PodNetwork reports that the process has network devices of its own, as in a pod without
	// hostNetwork: names such as eth0 and net1 are not those of the node.
	PodNetwork bool
}

// Setting is a variable with a value.
type Setting struct {
	Name, Value string // as they were read
	File        string // the file that has it; "" for the environment itself
	Line        int    // from 1; 0 if there are no lines
	// Unknown reports that the value is not known: it has an expansion, or it is a secret.
	Unknown bool
}

// FromPairs returns an environment with the given NAME=value strings.
func FromPairs(name string, form Form, pairs []string) Environment {
	env := Environment{Name: name, Form: form}
	for _, pair := range pairs {
		if key, value, ok := strings.Cut(pair, "="); ok && key != "" {
			env.Settings = append(env.Settings, Setting{Name: key, Value: value})
		}
	}
	return env
}
