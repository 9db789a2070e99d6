package replicas

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oriel-context/oriel/internal/test/pgtest"
)

const (
	// latency is what the faults of a slow network add to each round trip.
	latency = 2 * time.Second
	// diskSize is the size of the file systems of a database that runs out of space.
	diskSize = 256 << 20
	// maxConnections is the limit of a database whose connections run out.
	maxConnections = 40
)

// startDatabase starts the database that the faults need.
func (t *trial) startDatabase() (err error) {
	settings := []string{"max_wal_size=256MB"}
	if t.crowds > 0 {
		settings = append(settings, fmt.Sprintf("max_connections=%d", maxConnections))
	}
	if t.fulls > 0 {
		t.database, err = pgtest.NewSmall(diskSize, append(settings, "max_wal_size=32MB")...)
	} else {
		t.database, err = pgtest.New(settings...)
	}
	if err == nil && t.failovers > 0 {
		if t.standby, err = pgtest.NewStandby(t.database); err == nil && !t.asynchronous {
			err = t.database.Synchronous(true)
		}
	}
	return err
}

// failover kills the primary and promotes its standby. The old primary becomes the standby
// of the new one.
func (t *trial) failover() fault {
	return fault{name: "kill -9 of the primary, promotion of the standby", times: t.failovers, begin: func() error {
		t.database.Kill()
		return nil
	}, end: func() error {
		old := t.database
		t.database, t.standby = t.standby, old
		if err := t.database.Promote(); err != nil {
			return err
		}
		// Nobody may wait for a standby before there is one again.
		if err := t.database.Synchronous(false); err != nil {
			return err
		}
		if err := old.Follow(t.database); err != nil || t.asynchronous {
			return err
		}
		return t.database.Synchronous(true)
	}}
}

// fullDisk fills the file system of the tables and that of the write-ahead log in turn.
func (t *trial) fullDisk() fault {
	disk := pgtest.LogDisk
	return fault{name: "full disk of the tables, of the write-ahead log in turn", times: t.fulls, begin: func() error {
		if disk == pgtest.LogDisk {
			disk = pgtest.DataDisk
		} else {
			disk = pgtest.LogDisk
		}
		return t.database.Fill(disk)
	}, end: func() error {
		if err := t.database.MakeRoom(disk); err != nil {
			return err
		}
		if t.database.Running() && t.database.Execute("SELECT 1") == nil {
			return nil
		}
		t.database.Crash() // without space for its log PostgreSQL ends by itself
		return t.database.Start()
	}}
}

// crowd takes all connections of the database, those of the replicas too.
func (t *trial) crowd() fault {
	var crowd []*pgx.Conn
	leave := func() {
		for _, c := range crowd {
			_ = c.Close(ctx)
		}
		crowd = nil
	}
	return fault{name: "all connections of the database taken by others", times: t.crowds, begin: func() error {
		for began := time.Now(); len(crowd) < maxConnections; {
			c, err := pgx.Connect(ctx, t.database.Admin())
			var pe *pgconn.PgError
			switch {
			case err == nil:
				crowd = append(crowd, c)
			case !errors.As(err, &pe) || pe.Code != "53300":
				leave()
				return err
			}
			if time.Since(began) > time.Minute {
				leave()
				return fmt.Errorf("only %d of %d connections could be taken", len(crowd), maxConnections)
			}
			if len(crowd) > 0 {
				ending, cancel := context.WithTimeout(ctx, time.Minute)
				_, err := crowd[0].Exec(ending,
					"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'oriel'")
				cancel()
				if err != nil {
					leave()
					return err
				}
			}
		}
		return nil
	}, end: func() error { leave(); return nil }}
}
