package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

var errForeign = errors.New("the file is not a state file of this program: name another path, or move the file away")

func (e *Engine) open(c Config) error {
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return err
	}
	// The list of free pages is written with each commit: without it, bbolt reads the whole file when it opens it, in a goroutine of
	// its own whose panic over a damaged page nobody can catch.
	options := &bbolt.Options{
		Timeout:      time.Nanosecond, // the lock is ours already
		NoSync:       c.NoSync,
		NoGrowSync:   c.NoSync,
		NoStatistics: true,
		OpenFile: func(path string, flag int, mode os.FileMode) (_ *os.File, err error) {
			if e.file, err = openLocked(path, flag, mode); err != nil {
				return nil, err
			}
			if e.alive, err = openAlive(path); err != nil {
				_ = e.file.Close()
				return nil, err
			}
			return e.file, nil
		},
	}
	err := e.guard(func() (err error) {
		e.db, err = bbolt.Open(c.Path, 0o600, options)
		return err
	})
	if err == nil {
		if err = e.guard(func() error { return e.prepare(c) }); err == nil {
			return nil
		}
		_ = e.closeFile()
	} else if e.file != nil {
		_ = e.file.Close() // after a panic bbolt has not
		if e.alive != nil {
			_ = e.alive.Close()
		}
	}
	if errors.Is(err, bolterrors.ErrInvalid) || errors.Is(err, bolterrors.ErrChecksum) || errors.Is(err, bolterrors.ErrVersionMismatch) {
		err = damaged(err)
	}
	return err
}

// openLocked opens and locks the file and looks at its shape, before bbolt maps it and trusts it.
func openLocked(path string, flag int, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag, mode)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err == nil {
		err = checkShape(f)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// openAlive opens and locks the file that is locked as long as the owner, or a child of it that inherited the descriptor, is alive.
func openAlive(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".alive", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	return nil, err
}

// checkShape refuses what is no bbolt file, and one that is shorter than its own meta page says: reading behind the end would be a fault.
func checkShape(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errForeign
	}
	if info.Size() == 0 {
		return syncFolder(filepath.Dir(f.Name()))
	}
	first, err := readMeta(f, 0)
	if err != nil {
		return err
	}
	size := int64(os.Getpagesize())
	if first.valid {
		size = first.pageSize
	}
	second, err := readMeta(f, size)
	if err != nil {
		return err
	}
	if !first.ours && !second.ours {
		return errForeign
	}
	newest := first
	if !first.valid || second.valid && second.transaction > first.transaction {
		newest = second
	}
	if !newest.valid {
		return damaged("both meta pages are invalid")
	}
	if need := newest.pages * newest.pageSize; info.Size() < need {
		return damaged(fmt.Sprintf("%d of at least %d bytes are there", info.Size(), need))
	}
	return nil
}

// boltMeta is what is needed of a meta page of bbolt.
type boltMeta struct {
	ours, valid bool
	pageSize    int64
	pages       int64 // all pages in use are below this one
	transaction uint64
}

// readMeta reads a meta page as bbolt lays it out, in the byte order of the machine: page header (16 bytes), magic, version, page size,
// flags (4 bytes each), root (16), free list, pages, transaction, checksum over what is before it (8 each).
func readMeta(f *os.File, offset int64) (boltMeta, error) {
	const header, summed, magic = 16, 56, 0xED0CDAED
	var page [header + summed + 8]byte
	if _, err := f.ReadAt(page[:], offset); errors.Is(err, io.EOF) {
		return boltMeta{}, nil
	} else if err != nil {
		return boltMeta{}, err
	}
	b, order := page[header:], binary.NativeEndian
	sum := fnv.New64a()
	_, _ = sum.Write(b[:summed])
	m := boltMeta{
		ours:        order.Uint32(b) == magic,
		pageSize:    int64(order.Uint32(b[8:])),
		pages:       int64(order.Uint64(b[40:])),
		transaction: order.Uint64(b[48:]),
	}
	m.valid = m.ours && order.Uint64(b[summed:]) == sum.Sum64()
	return m, nil
}

// syncFolder makes a new file's name durable.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}

// prepare checks the schema, makes what a new file lacks, ends the leases and sets the clock. A file that it refuses is not written to.
func (e *Engine) prepare(c Config) error {
	var known, leases bool
	var floor int64
	err := e.db.View(func(tx *bbolt.Tx) error {
		first, _ := tx.Cursor().First()
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			if first != nil {
				return errForeign
			}
			return nil
		}
		known = true
		found, err := parseNumber(meta.Get(metaSchema))
		if err != nil {
			return damaged(err)
		}
		if found > schema {
			return fmt.Errorf("the file has schema %d and this program knows %d: run the newer program that wrote it", found, schema)
		}
		for _, name := range buckets {
			if tx.Bucket(name) == nil {
				return damaged(fmt.Sprintf("bucket %s is missing", name))
			}
		}
		lease, _ := tx.Bucket(bucketLeases).Cursor().First()
		leases = lease != nil
		floor, err = parseNumber(meta.Get(metaClock))
		return err
	})
	if err != nil {
		return err
	}
	if err := e.file.Chmod(0o600); err != nil {
		return err
	}
	e.clock = newClock(c.Now, floor)
	if ahead := time.UnixMilli(floor).Sub(c.Now()); ahead > time.Minute {
		e.logger.Warn("the store's last commit is in the future: its clock runs at half speed until the machine's has caught up",
			"path", c.Path, "ahead", ahead.String())
	}
	if known && !leases {
		return nil
	}
	return e.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		if err := tx.Bucket(bucketMeta).Put(metaSchema, number(schema)); err != nil {
			return err
		}
		return begin(tx, e.clock.now()).endLeases()
	})
}
