package ibverbs

import (
	"errors"
	"fmt"
	"os"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

// SonameCM is the file name with which librdmacm is opened.
const SonameCM = "librdmacm.so.1"

const cmPackages = "librdmacm1 (Debian, Ubuntu, SUSE), librdmacm (RHEL, Fedora) or rdma-core (Alpine)"

// cmFile is the name of the communication manager's character device, next to those of the devices.
const cmFile = "rdma_cm"

// cmLibrary is an open librdmacm. All functions but rdma_init_qp_attr and rdma_establish are as old
// as the library's stable interface; those are since version 1.2 (rdma-core 23), and without them
// it can't connect queue pairs that it hasn't created.
type cmLibrary struct {
	dl                            *dl.Library
	createChannel, destroyChannel dl.Func // rdma_create_event_channel, rdma_destroy_event_channel
	createID, destroyID           dl.Func // rdma_create_id, rdma_destroy_id
	migrateID                     dl.Func // rdma_migrate_id
	bindAddr, listen              dl.Func // rdma_bind_addr, rdma_listen
	resolveAddr, resolveRoute     dl.Func // rdma_resolve_addr, rdma_resolve_route
	connect, accept, reject       dl.Func // rdma_connect, rdma_accept, rdma_reject
	establish, disconnect         dl.Func // rdma_establish, rdma_disconnect
	getEvent, ackEvent            dl.Func // rdma_get_cm_event, rdma_ack_cm_event
	initQPAttr                    dl.Func // rdma_init_qp_attr
	setOption                     dl.Func // rdma_set_option
}

// loadCM opens librdmacm. The error is a *dl.Error.
func loadCM(name string) (*cmLibrary, error) {
	lib, err := dl.Open(dl.Spec{Name: name, Packages: cmPackages})
	if err != nil {
		return nil, err
	}
	l := &cmLibrary{dl: lib}
	for _, s := range []struct {
		name string
		f    *dl.Func
	}{
		{"rdma_create_event_channel", &l.createChannel},
		{"rdma_destroy_event_channel", &l.destroyChannel},
		{"rdma_create_id", &l.createID},
		{"rdma_destroy_id", &l.destroyID},
		{"rdma_migrate_id", &l.migrateID},
		{"rdma_bind_addr", &l.bindAddr},
		{"rdma_listen", &l.listen},
		{"rdma_resolve_addr", &l.resolveAddr},
		{"rdma_resolve_route", &l.resolveRoute},
		{"rdma_connect", &l.connect},
		{"rdma_accept", &l.accept},
		{"rdma_reject", &l.reject},
		{"rdma_establish", &l.establish},
		{"rdma_disconnect", &l.disconnect},
		{"rdma_get_cm_event", &l.getEvent},
		{"rdma_ack_cm_event", &l.ackEvent},
		{"rdma_init_qp_attr", &l.initQPAttr},
		{"rdma_set_option", &l.setOption},
	} {
		f, err := lib.Func(s.name)
		if err != nil {
			_ = lib.Close() // the error to return is the missing symbol
			return nil, err
		}
		*s.f = f
	}
	return l, nil
}

// openCM opens the library if the process may use the communication manager. The error matches
// [provider.ErrNotSupported].
func openCM(name, chars string) (*cmLibrary, error) {
	l, err := loadCM(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(chars+"/"+cmFile, os.O_RDWR, 0)
	if err != nil {
		_ = l.dl.Close() // the error to return is the other one
		return nil, fmt.Errorf("%w: %w", provider.ErrNotSupported, err)
	}
	_ = f.Close() // nothing was read or written
	return l, nil
}

// noConnector returns the error of an operation if there is no communication manager.
func (d *openDevice) noConnector(op string) error {
	if d.cm != nil {
		return nil
	}
	e := &Error{Op: op, Device: d.name, Err: d.cmError}
	switch loadErr, ok := errors.AsType[*dl.Error](d.cmError); {
	case ok:
		e.Remedy = loadErr.Remedy
	case errors.Is(d.cmError, os.ErrPermission):
		e.Remedy = "give the process access to /dev/infiniband/rdma_cm (group rdma, or the device in the container)"
	case errors.Is(d.cmError, os.ErrNotExist):
		e.Remedy = "load the kernel module rdma_ucm, or give the container the device /dev/infiniband/rdma_cm"
	}
	return e
}
