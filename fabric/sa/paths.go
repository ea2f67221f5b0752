package sa

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// LearnPaths asks for the paths from the local port to all others with one query, and has the
// transport's [fabric.Addressing] use their service levels, partitions and GIDs. It returns the
// number of paths. An error leaves the addresses as they are, except that with a [*TruncatedError]
// the paths that arrived are used. C twin: path_record_query of ibqueryerrors.
func (c *Client) LearnPaths(ctx context.Context) (int, error) { return c.learn(ctx, 0) }

// LearnPath does the same for the path to one LID, unless that is known already.
func (c *Client) LearnPath(ctx context.Context, to ib.LID) error {
	if a := fabric.AddressingOf(c.Transport); a == nil || a.HasPath(to) {
		return nil
	}
	_, err := c.learn(ctx, to)
	return err
}

// learn asks for the path to a LID; 0: to all.
func (c *Client) learn(ctx context.Context, to ib.LID) (int, error) {
	a := fabric.AddressingOf(c.Transport)
	if a == nil {
		return 0, nil
	}
	local := fabric.Client{Transport: c.Transport, Timeout: c.Timeout, Retries: c.Retries, Keys: c.Keys}
	gid, err := local.OwnGID(ctx)
	if err != nil {
		return 0, fmt.Errorf("find paths from the local port: %w", err)
	}
	// One path to each port, in both directions: the answer to a request returns on it.
	record := mad.PathRecord{SGID: gid, DLID: to, NumPath: 1, Reversible: true}
	q := Query{Attribute: mad.AttributePathRecord, Record: record.Append(nil)}
	q.Mask = mad.PathRecordMaskSGID | mad.PathRecordMaskNumPath | mad.PathRecordMaskReversible
	if to != 0 {
		q.Mask |= mad.PathRecordMaskDLID
	}
	table, err := c.Table(ctx, q)
	if table == nil {
		return 0, err
	}
	paths, decodeErr := Records[mad.PathRecord](table)
	if decodeErr != nil {
		return 0, decodeErr
	}
	a.LearnPaths(paths)
	return len(paths), err
}
