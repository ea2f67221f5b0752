//go:build nodl

package version

// build names this build: the tag nodl leaves out everything that needs a dynamic loader.
const build = BuildStatic

// lacks is what the tag nodl leaves out.
const lacks = "opening libibverbs at run time: what ibv_devinfo asks the device, and the way to queue pairs on real " +
	"cards; what reads files and netlink is all here"
