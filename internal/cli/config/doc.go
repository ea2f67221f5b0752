// Package config loads the user's settings and records where each value comes from.
//
// The value of a setting comes from the first of these sources that has one:
//
//  1. a flag of the command, such as --mtu;
//  2. its RDMAKIT_ variable, such as RDMAKIT_MTU;
//  3. its RDMA_ alias if it has one: RDMA_DEVICE, RDMA_QP_TYPE, RDMA_MTU, RDMA_TIMEOUT;
//  4. the configuration file;
//  5. its default, or what rdmactl detects on the machine.
//
// An empty variable is treated as unset. The file is YAML with one "key: value" pair per line:
//
//	# ~/.config/rdmakit/config.yaml
//	output: wide
//	device: mlx5_0
//	timeout: 30s
//
// The file is the one that --config names, else RDMAKIT_CONFIG, else
// $XDG_CONFIG_HOME/rdmakit/config.yaml, else ~/.config/rdmakit/config.yaml (on Windows
// %AppData%\rdmakit\config.yaml). A file that is named explicitly must exist, the default file need
// not. An unknown key or an invalid value is an error that names the file and line, the variable or
// the flag.
//
//	cfg, err := config.Load(config.Options{LookupEnv: os.LookupEnv})
//	if err != nil { ... }         // cfg still has all valid settings
//	fmt.Println(cfg.MTU)          // 0: to be detected
//
// The table in Settings is the only list of settings. The package has no global state; a Config is
// not changed after Load.
package config
