//go:build !nodl

package version

// build names this build: without the tag nodl the binary may open C libraries at run time.
const build = BuildDynamic

// lacks is empty: nothing is left out of this build.
const lacks = ""
