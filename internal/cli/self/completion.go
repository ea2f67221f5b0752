package self

import (
	"bytes"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
)

func newCompletionCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script for bash, zsh, fish or powershell",
		Long: `Print the script that makes a shell complete the commands, flags and values of rdmactl
with the Tab key.

To try it in this shell:

    bash         source <(rdmactl completion bash)
    zsh          source <(rdmactl completion zsh)
    fish         rdmactl completion fish | source
    powershell   rdmactl completion powershell | Out-String | Invoke-Expression

To install it for bash or fish, put the line above into ~/.bashrc or ~/.config/fish/config.fish. Or
write the script to the file where the shell looks for it:

    bash         /etc/bash_completion.d/rdmactl (needs the package bash-completion)
    zsh          _rdmactl in a directory of $fpath
    fish         ~/.config/fish/completions/rdmactl.fish`,
		Example:     "  source <(rdmactl completion bash)\n  rdmactl completion zsh >\"${fpath[1]}/_rdmactl\"",
		Annotations: map[string]string{cli.AnnotationLenient: "true"},
		ValidArgs:   []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			script, err := completionScript(cmd.Root(), args[0])
			if err != nil {
				return err
			}
			return app.Out.Raw(script)
		},
	}
}

func completionScript(root *cobra.Command, shell string) ([]byte, error) {
	var buf bytes.Buffer
	var err error
	switch shell {
	case "bash":
		err = root.GenBashCompletionV2(&buf, true)
	case "zsh":
		err = root.GenZshCompletion(&buf)
	case "fish":
		err = root.GenFishCompletion(&buf, true)
	case "powershell":
		err = root.GenPowerShellCompletionWithDesc(&buf)
	}
	if shell == "bash" {
		return withoutPackage(buf.Bytes()), err
	}
	return buf.Bytes(), err
}
