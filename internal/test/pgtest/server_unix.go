//go:build unix

package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL server of this process. It does not wait for the disk, which no
// test needs: what it has committed survives its own end, not that of the machine.
type Server struct {
	bin, dir string
	user     *syscall.Credential // nil for the user of this process
	settings []string
	cmd      *exec.Cmd
	alive    io.WriteCloser // if it is closed without a word, the server ends
	ended    chan struct{}  // is closed when the server has ended
	mounts   []string       // file systems of its own
}

// New creates a database and starts a server for it. Settings have the form name=value.
func New(settings ...string) (*Server, error) {
	s, err := place(settings)
	if err != nil {
		return nil, err
	}
	if err := s.initialise(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// place returns a server that has a folder and nothing in it.
func place(settings []string) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, settings: settings}
	if os.Getuid() == 0 {
		if s.user, err = otherUser(); err != nil {
			return nil, err
		}
	}
	return s, s.makeDir()
}

// initialise creates the database, with further arguments of initdb, and starts the server.
func (s *Server) initialise(args ...string) error {
	if err := s.create(args); err != nil {
		return err
	}
	if err := s.Start(); err != nil {
		return err
	}
	return s.Execute("CREATE ROLE oriel LOGIN NOSUPERUSER", "CREATE DATABASE oriel OWNER oriel")
}

// create makes the files of a server. Those without further arguments are all alike: the
// first are kept in the folder that $ORIEL_TEST_CLUSTER names, if it does, and copied from
// then on, which takes a tenth of the time.
func (s *Server) create(args []string) error {
	shared := os.Getenv(Cluster)
	kept := filepath.Join(shared, "data")
	if shared != "" && len(args) == 0 {
		if _, err := os.Stat(kept); err == nil {
			return copyFiles(kept, s.data())
		}
	}
	if err := s.program("initdb", append([]string{"-N", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8",
		"--locale=C"}, args...)...); err != nil {
		return err
	}
	if shared == "" || len(args) > 0 {
		return nil
	}
	// Others may be as far as this one: whoever is first keeps it.
	own, err := os.MkdirTemp(shared, "new")
	if err != nil {
		return err
	}
	defer os.RemoveAll(own)
	if err := copyFiles(s.data(), filepath.Join(own, "data")); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(own, "data"), kept); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// copyFiles copies a folder with its owners and permissions to a path where nothing is.
func copyFiles(from, to string) error {
	if out, err := exec.Command("cp", "-Rp", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, bytes.TrimSpace(out))
	}
	return nil
}

// Execute runs statements as the superuser.
func (s *Server) Execute(statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, s.Admin())
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for _, statement := range statements {
		if _, err := c.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// program runs a program of PostgreSQL as the server's user.
func (s *Server) program(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Credential: s.user}, s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// makeDir makes a folder that the server's user can use. The name of a socket is short.
func (s *Server) makeDir() (err error) {
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		if s.dir, err = os.MkdirTemp(parent, "oriel-pg-"); err != nil || len(s.dir) > 80 {
			continue
		}
		if s.user == nil {
			return nil
		}
		if err = os.Chown(s.dir, int(s.user.Uid), int(s.user.Gid)); err != nil {
			return err
		}
		look := exec.Command("/bin/sh", "-c", `cd "$0" && touch x && rm x`, s.dir)
		look.SysProcAttr = &syscall.SysProcAttr{Credential: s.user}
		look.Dir = "/"
		if err = look.Run(); err == nil {
			return nil
		}
		_ = os.Remove(s.dir)
	}
	return fmt.Errorf("a folder for the server: %w", err)
}

// otherUser returns a user for the server, which refuses to run as root.
func otherUser() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("there is no user postgres or nobody to run the server as")
}

// script runs the server. If its standard input ends without a word, the test binary was
// killed: then it stops the server and removes its folder.
const script = `exec 3<&0
(read -r word <&3 || { kill -QUIT $$; while kill -0 $$; do sleep 0.1; done; cd /; rm -rf -- "$0"; }) >/dev/null 2>&1 &
exec "$@" >log 2>&1 3<&- </dev/null
`

// Start starts the server, again after Kill.
func (s *Server) Start() error {
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := s.launch()
		if err == nil {
			return nil
		}
		// Processes of a killed server may still hold its memory.
		if time.Since(start) > time.Minute {
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("the server does not answer: %w: %s", err, bytes.TrimSpace(log))
		}
	}
}

// launch starts the server and waits until it answers or ends.
func (s *Server) launch() error {
	args := []string{"-c", script, s.dir, filepath.Join(s.bin, "postgres"), "-D", s.data(), "-k", s.dir, "-c",
		"listen_addresses="}
	for _, setting := range append([]string{"fsync=off", "full_page_writes=off", "shared_buffers=64MB",
		"max_connections=100", "jit=off", "max_wal_size=2GB"}, s.settings...) {
		args = append(args, "-c", setting)
	}
	s.cmd = exec.Command("/bin/sh", args...)
	s.cmd.Dir = s.dir
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.user, Setpgid: true}
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	s.cmd.Stdin, s.alive = in, out
	err = s.cmd.Start()
	_ = in.Close()
	if err != nil {
		return errors.Join(err, out.Close())
	}
	cmd, ended := s.cmd, make(chan struct{})
	s.ended = ended
	go func() { _ = cmd.Wait(); close(ended) }()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		c, err := pgx.Connect(ctx, s.Admin())
		if err == nil {
			err = c.Close(ctx)
			cancel()
			return err
		}
		cancel()
		select {
		case <-ended:
			s.end(syscall.SIGKILL)
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Kill kills the server at once; its other processes end when they notice.
func (s *Server) Kill() {
	s.end(syscall.SIGKILL)
	_ = os.Remove(filepath.Join(s.data(), "postmaster.pid"))
}

// Crash stops the server at once without a checkpoint, as pg_ctl stop -m immediate does.
func (s *Server) Crash() { s.end(syscall.SIGQUIT) }

// Halt stops the server in order, as pg_ctl stop -m fast does.
func (s *Server) Halt() { s.end(syscall.SIGINT) }

// Running reports whether the server has not ended.
func (s *Server) Running() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// end ends the server with a signal.
func (s *Server) end(signal syscall.Signal) {
	_, _ = io.WriteString(s.alive, "ended\n")
	_ = s.cmd.Process.Signal(signal)
	<-s.ended
	_ = s.alive.Close()
}

// Stop stops the server and removes its folder.
func (s *Server) Stop() {
	s.end(syscall.SIGQUIT)
	_ = s.remove()
}

// remove removes the folder.
func (s *Server) remove() error { return errors.Join(s.unmount(), os.RemoveAll(s.dir)) }

// Socket returns the folder of the server's Unix socket, whose port is 5432.
func (s *Server) Socket() string { return s.dir }

// URL returns the URL of the database as its owner, who is no superuser.
func (s *Server) URL() string { return s.url("oriel", "oriel") }

// Admin returns the URL of the superuser.
func (s *Server) Admin() string { return s.url("postgres", "postgres") }

func (s *Server) url(user, database string) string {
	q := url.Values{"host": {s.dir}}
	for _, setting := range s.settings {
		if port, ok := strings.CutPrefix(setting, "port="); ok {
			q.Set("port", port)
		}
	}
	u := url.URL{Scheme: "postgres", User: url.User(user), Path: "/" + database, RawQuery: q.Encode()}
	return u.String()
}
