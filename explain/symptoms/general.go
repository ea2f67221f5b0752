package symptoms

import (
	"slices"
	"sync"
)

// General is what an error comes from whose text is the same in all programs: of the dynamic
// linker, a shell, ssh, Python or the operating system.
type General struct {
	// Texts are in lines that say it.
	Texts  []string
	Causes []Cause
}

// Generals returns the general errors; of those with a text in a line, the first counts. Errors
// that have a number are known by that number. The values are shared: don't change them.
var Generals = sync.OnceValue(func() []General { return slices.Concat(startErrors(), runErrors()) })

func usually(slug, title, decide, remedy string) Cause {
	return Cause{Slug: slug, Title: title, Decide: decide, Remedy: remedy}
}

// startErrors are those of starting a program, on this node or another one.
func startErrors() []General {
	otherVersions := usually(
		"library-conflict",
		"another version is loaded than the one that the program was built with",
		"ldd, or LD_DEBUG=libs; the library's path and package",
		"the version that the program was built with, first in the search path",
	)
	return []General{
		{
			// glibc, elf/dl-load.c, elf/dl-lookup.c and elf/dl-version.c
			[]string{"error while loading shared libraries: ", "cannot open shared object file: No such file"},
			[]Cause{
				usually(
					"missing-library",
					"a shared library isn't installed, or not in the search path of this process",
					"ldd on the program or library; ldconfig -p",
					"the package that has it, or its folder in LD_LIBRARY_PATH",
				),
			},
		},
		{
			[]string{
				"undefined symbol: ",
				"symbol lookup error: ",
			},
			[]Cause{otherVersions},
		},
		{
			[]string{"version `GLIBC", "version `CXXABI", "version `IBVERBS", "version `EFA_", "version `MLX5_"},
			[]Cause{
				usually(
					"library-too-old",
					"a library that is found is older than the one that the program was built with",
					"ldd, or LD_DEBUG=libs; the library's path and package",
					"the newer library first in the search path, or a build for this system",
				),
			},
		},
		{
			// the kernel's errors of execve
			[]string{"Exec format error", "exec format error"},
			[]Cause{usually("image-arch", "the program is built for another architecture than this machine's",
				"file PROGRAM; uname -m", "a build, or an image, for this architecture")},
		},
		{
			[]string{": command not found", "executable file not found in $PATH", ": not found in PATH"},
			[]Cause{
				usually(
					"missing-library",
					"the program isn't in the image, or not in the PATH of this process",
					"command -v PROGRAM on the node and in the container",
					"install it, or set PATH where the job starts",
				),
			},
		},
		{
			// OpenSSH, sshconnect2.c, sshconnect.c, auth.c
			[]string{
				"Permission denied (publickey",
				"Permission denied, please try again",
				"Host key verification failed",
				"Authentication refused: bad ownership",
				"Too many authentication failures",
				"REMOTE HOST IDENTIFICATION HAS CHANGED",
			},
			[]Cause{
				usually(
					"ssh-keys",
					"ssh between the nodes wants a password or refuses the key: keys, known hosts, owner or mode",
					"ssh -o BatchMode=yes NODE true from the node and user that start the job; sshd's log there",
					"a key that all nodes accept, known hosts, home and ~/.ssh writable by the owner only",
				),
			},
		},
	}
}

// runErrors are those of a program that runs.
func runErrors() []General {
	pythonVersions := usually("version-mismatch", "releases of two Python packages that don't fit each other",
		"pip check; the version of the package in the line above", "the releases that were published together")
	return []General{
		{
			// glibc, sysdeps/posix/gai_strerror.c; Go, net/dnsclient_unix.go
			[]string{
				"Name or service not known",
				"Temporary failure in name resolution",
				"nodename nor servname provided",
				"No address associated with hostname",
				"Could not resolve host",
				": no such host",
			},
			[]Cause{usually("name-resolution", "the host's name is not known on this node, or not yet",
				"getent hosts NAME there", "DNS, /etc/hosts, or an address instead of the name")},
		},
		{
			[]string{"x509: ", "certificate verify failed", "CERTIFICATE_VERIFY_FAILED"},
			[]Cause{
				usually(
					"server-unreachable",
					"the certificate of the server isn't accepted: expired, of another name or "+
						"authority, or the node's clock is wrong",
					"date; openssl s_client -connect HOST:PORT",
					"the authority's certificate on this node, or the clock",
				),
			},
		},
		{
			[]string{"ModuleNotFoundError: No module named", "ImportError: No module named"},
			[]Cause{usually("missing-library", "a Python package isn't in the environment of this process",
				"python -m pip show PACKAGE with the interpreter of the traceback",
				"install it there, on all nodes; or the right environment")},
		},
		{
			[]string{
				"ImportError: cannot import name", "got an unexpected keyword argument", "has no attribute '",
				"missing 1 required positional argument",
			},
			[]Cause{pythonVersions},
		},
		{
			[]string{"Read-only file system"},
			[]Cause{
				usually(
					"folder-not-writable",
					"the file system is mounted read-only",
					"findmnt -T PATH",
					"another folder, or mount it for writing",
				),
			},
		},
		{
			[]string{
				"No space left on device",
				"no space left on device",
				"Disk quota exceeded",
				"disk quota exceeded",
			},
			[]Cause{
				usually("disk-full", "a file system is full, or a quota is used up: a disk, /tmp, /run or /dev/shm",
					"df -h and df -i of the path; quota", "space, or another folder; --shm-size for containers"),
			},
		},
		{
			[]string{"OOMKilled", "oom-kill", "Out of memory: Killed", "out of memory (allocating"},
			[]Cause{usually("host-memory", "the node, or the limit of the container or job, ran out of memory",
				"dmesg; the limit of the pod or of Slurm", "more memory, or a smaller job")},
		},
		{
			[]string{"Permission denied", ": permission denied"},
			[]Cause{
				usually(
					"not-privileged",
					"the process may not do that: owner or mode of the path, a mount with noexec, "+
						"SELinux, or a missing capability",
					"ls -ld and findmnt -T of the path; id; the same once as root",
					"owner, mode or mount of the path; the capability that is missing",
				),
			},
		},
	}
}
