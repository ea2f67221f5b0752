//go:build nodl

package version

// build names this build: the tag nodl leaves out everything that needs a dynamic loader.
const build = BuildStatic

// lacks is what the tag nodl leaves out.
const lacks = "this build doesn't load libibverbs: ibv_devinfo lacks the values that only the library returns, and " +
	"data can't be transferred over RDMA cards; whatever reads files and netlink works"
