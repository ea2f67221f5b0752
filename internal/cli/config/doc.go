// Package config finds out what the user has settled in advance, and where.
//
// A setting comes from the first of these that has it:
//
//  1. a flag of the command, such as --mtu;
//  2. its RDMAKIT_ variable, such as RDMAKIT_MTU;
//  3. its RDMA_ alias if it has one: RDMA_DEVICE, RDMA_QP_TYPE, RDMA_MTU, RDMA_TIMEOUT;
//  4. the configuration file;
//  5. its default, or what rdmactl detects on the machine.
//
// A variable that is set but empty counts as unset. The file is YAML, one "key: value" a line:
//
//	# ~/.config/rdmakit/config.yaml
//	output: wide
//	device: mlx5_0
//	timeout: 30s
//
// It is the one that --config names, else RDMAKIT_CONFIG, else
// $XDG_CONFIG_HOME/rdmakit/config.yaml, else ~/.config/rdmakit/config.yaml (on Windows
// %AppData%\rdmakit\config.yaml). A named file must exist, the default one need not. An unknown key
// or a wrong value is an error that names file and line, variable or flag.
//
//	cfg, err := config.Load(config.Options{LookupEnv: os.LookupEnv})
//	if err != nil { ... }         // cfg still holds all that was right
//	fmt.Println(cfg.MTU)          // 0: to be detected
//
// The table in Settings is the only list of settings. Nothing here is global; a Config is not
// changed after Load.
package config
