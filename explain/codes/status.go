package codes

import "fmt"

// Who is the side where the cause of an error is found.
type Who uint8

// The sides, seen from the node that printed the error.
const (
	WhoUnknown Who = iota
	WhoNobody      // no error
	WhoLocal       // this node
	WhoPeer        // the peer's node
	WhoPath        // the path between the nodes, or a peer that is gone
	WhoEither      // the two ends disagree: either can be wrong
	WhoNever       // only the consequence of another error
)

// String returns words for a report, such as "the path, or a dead peer".
func (w Who) String() string {
	switch w {
	case WhoNobody:
		return "nobody: this is not an error"
	case WhoLocal:
		return "this node"
	case WhoPeer:
		return "the peer's node"
	case WhoPath:
		return "the path, or a dead peer"
	case WhoEither:
		return "either end: they disagree"
	case WhoNever:
		return "never a cause: another error came first"
	default:
		return "not known from this value"
	}
}

// MarshalText implements [encoding.TextMarshaler] with the words of [Who.String].
func (w Who) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// WorkStatus is the status of a completion (enum ibv_wc_status).
type WorkStatus struct {
	Number   int
	Name     string // IBV_WC_RETRY_EXC_ERR
	Text     string // of ibv_wc_status_str
	Syndrome uint8  // of mlx5 and mlx4; 0 if these never report the status
	Who      Who
	Meaning  string
	Causes   []string // the most common one first
}

// StatusUnknown stands for a status that isn't known.
const StatusUnknown = -1

// Status returns the status with a number, 0 to 23.
func Status(number int) (WorkStatus, bool) {
	if number < 0 || number >= len(statuses) {
		return WorkStatus{}, false
	}
	return statuses[number], true
}

// StatusBySyndrome returns the status that mlx5 and mlx4 report for the syndrome of an error
// completion. They report a syndrome that their table doesn't have as status 21, general error;
// known is false then (rdma-core, mlx5_handle_error_cqe in providers/mlx5/cq.c).
func StatusBySyndrome(syndrome uint8) (s WorkStatus, known bool) {
	for _, s := range statuses {
		if s.Syndrome == syndrome && syndrome != 0 {
			return s, true
		}
	}
	return statuses[statusGeneral], false
}

// String returns number, name and text, such as "12 (IBV_WC_RETRY_EXC_ERR, transport retry counter
// exceeded)".
func (s WorkStatus) String() string { return fmt.Sprintf("%d (%s, %s)", s.Number, s.Name, s.Text) }
