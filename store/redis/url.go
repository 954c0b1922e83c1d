package redis

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

type mode int

const (
	single mode = iota
	sentinel
	cluster
)

// target is what a store.url says.
type target struct {
	mode     mode
	tls      bool
	addrs    []string
	username string
	password string
	primary  string // the name that the Sentinels know the primary by
	db       int
}

// parseURL reads a store.url. Its errors never repeat any of it, because anything in it may be a part of a password.
func parseURL(raw string) (target, error) {
	t, err := parse(raw)
	if err != nil {
		return target{}, fmt.Errorf("parse store.url: %w", err)
	}
	return t, nil
}

func parse(raw string) (t target, err error) {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		return t, errors.New("it has no scheme; begin with redis:// or rediss:// (TLS), redis+sentinel:// or redis+cluster://")
	}
	base, kind, _ := strings.Cut(scheme, "+")
	switch base {
	case "redis":
	case "rediss":
		t.tls = true
	default:
		return t, errors.New("the scheme is not redis, rediss, redis+sentinel or redis+cluster")
	}
	authority, path, _ := strings.Cut(rest, "/")
	if strings.ContainsAny(rest, "?#") {
		return t, errors.New("it has a ? or # part; options are settings of their own, and in a password both are percent-encoded")
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		if t.username, t.password, err = credentials(authority[:i]); err != nil {
			return t, err
		}
		authority = authority[i+1:]
	}
	port := "6379"
	switch kind {
	case "":
		t.mode = single
		t.db, err = database(path)
	case "sentinel":
		t.mode, port = sentinel, "26379"
		name, db, _ := strings.Cut(path, "/")
		if t.primary, err = url.PathUnescape(name); err != nil || t.primary == "" {
			return t, errors.New("it does not name the primary: redis+sentinel://host1,host2/NAME")
		}
		t.db, err = database(db)
	case "cluster":
		t.mode = cluster
		if path != "" {
			err = errors.New("a Cluster has no database number")
		}
	default:
		return t, errors.New("after redis+ comes sentinel or cluster")
	}
	if err != nil {
		return t, err
	}
	t.addrs, err = addresses(authority, port)
	if err == nil && t.mode == single && len(t.addrs) > 1 {
		err = errors.New("it names several hosts: say redis+sentinel:// or redis+cluster://")
	}
	return t, err
}

func credentials(info string) (username, password string, err error) {
	name, word, _ := strings.Cut(info, ":")
	username, err1 := url.PathUnescape(name)
	password, err2 := url.PathUnescape(word)
	if err1 != nil || err2 != nil {
		return "", "", errors.New("the user name or password is not percent-encoded (a % is written %25)")
	}
	return username, password, nil
}

func database(path string) (int, error) {
	if path == "" {
		return 0, nil
	}
	db, err := strconv.Atoi(path)
	if err != nil || db < 0 {
		return 0, errors.New("the database is not a number: redis://host:6379/0 (in a password / is written %2F)")
	}
	return db, nil
}

func addresses(list, defaultPort string) ([]string, error) {
	var addrs []string
	for one := range strings.SplitSeq(list, ",") {
		host, port, err := net.SplitHostPort(one)
		if err != nil {
			host, port = strings.Trim(one, "[]"), defaultPort
		}
		if host == "" {
			return nil, errors.New("it names no host")
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || (strings.Contains(host, ":") && net.ParseIP(host) == nil) {
			return nil, errors.New("a host is not host, host:port or [ipv6]:port")
		}
		addrs = append(addrs, net.JoinHostPort(host, port))
	}
	return addrs, nil
}
