package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes a file whole or not at all, readable by its owner only. An
// existing one stays unless replace is set; the error then matches fs.ErrExist.
func WriteFile(name string, data []byte, replace bool) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*") // mode 0600
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok { // the name of the temporary file says nothing
			err = at.Err
		}
		return fmt.Errorf("write bundle %s: %w", name, err)
	}
	defer func() {
		if rmErr := os.Remove(temp.Name()); err == nil && rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
			err = fmt.Errorf("write bundle: %w", rmErr)
		}
	}()
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	if replace {
		err = os.Rename(temp.Name(), name)
	} else {
		err = publish(temp.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return nil
}

// publish gives a file a name that nobody has: a link fails where rename would replace.
func publish(temp, name string) error {
	err := os.Link(temp, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// The file system has no hard links: look and rename, which leaves a moment in between.
	if _, statErr := os.Lstat(name); !errors.Is(statErr, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, statErr)
	}
	return os.Rename(temp, name)
}
