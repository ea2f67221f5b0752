//go:build nodl

package version

// build names this build: the tag nodl leaves out everything that needs a dynamic loader.
const build = BuildStatic
