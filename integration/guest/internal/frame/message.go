package frame

// Kinds of frames from the client to the guest. A session is one request of
// the first five, then data.
const (
	KindPing = "ping" // connection test; answered by KindEnd
	KindRun  = "run"  // payload: RunRequest
	KindPut  = "put"  // payload: FileInfo; then KindData…, KindDone
	KindGet  = "get"  // payload: FileInfo, path only; answered by KindHead, KindData…
	KindData = "data" // payload: bytes of a file, both directions
	KindDone = "done" // the file is complete
	KindKill = "kill" // end the running command and report
	// KindAlive asks whether the guest still works on the session. It answers with KindAlive, or
	// with KindEnd and an error if the session is unknown.
	KindAlive = "alive"
)

// Kinds of frames from the guest to the client.
const (
	KindOut  = "out"  // payload: bytes of standard output
	KindErr  = "err"  // payload: bytes of standard error
	KindHead = "head" // payload: FileInfo of the file that follows
	KindEnd  = "end"  // payload: End; the last frame of every session
)

// RunRequest is the request to run a bash script.
type RunRequest struct {
	Script string `json:"script"`
}

// FileInfo describes a file to be copied.
type FileInfo struct {
	Path string `json:"path"`           // absolute path in the guest
	Mode uint32 `json:"mode,omitempty"` // permission bits
	Size int64  `json:"size,omitempty"` // bytes
}

// End is the result of a session.
type End struct {
	Code   int    `json:"code"`             // exit status; 128+n for death by signal n
	Killed bool   `json:"killed,omitempty"` // the command was ended by KindKill
	Error  string `json:"error,omitempty"`  // what the daemon could not do
}
