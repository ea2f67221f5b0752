package devlink

import (
	"testing"

	"github.com/rdmakit/rdmakit/internal/testkit/uapi"
)

func TestUAPIMatchesHeaders(t *testing.T) { uapi.Compare(t, "uapi.go", "linux/devlink.h") }
