package backup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/backuppb"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// Existing selects what a restore does with tables and pipelines that already exist in the cluster.
type Existing int

const (
	// Refuse restores databases only if they have no other tables, and selected tables only if
	// their names are free.
	Refuse Existing = iota
	// Add restores the tables under other names, next to the existing tables.
	Add
	// Replace replaces existing tables of the same names, after all restored tables are complete.
	Replace
)

// RestoreConfig configures Restore.
type RestoreConfig struct {
	Target *Cluster
	// Backup is the id of the backup; empty means the newest.
	Backup string
	// Databases and Tables select what is restored: the union of both, or everything if both are empty. A table is
	// DATABASE.TABLE, or TABLE of the default database.
	Databases, Tables []string
	Existing          Existing
	// NoPipelines excludes the pipelines. MetadataOnly excludes the rows. If tables are selected, pipelines are not
	// restored.
	NoPipelines, MetadataOnly bool
	// Parallel is the number of shards of the backup that are read at once. The default value is 4.
	Parallel int
	Rate     *Limiter
	Progress *Progress
	// TempDir is the folder for files from a bucket while their rows are read.
	TempDir string
	// Logger receives messages for operators. If it is nil, they are discarded.
	Logger *slog.Logger
	// Now is the clock. The default value is time.Now.
	Now func() time.Time
}

// RestoreResult is the result of Restore.
type RestoreResult struct {
	Backup    string `json:"backup"`
	Databases int    `json:"databases"`
	Tables    int    `json:"tables"`
	Pipelines int    `json:"pipelines"`
	Saved     int    `json:"saved"`
	Rows      int64  `json:"rows"`
	// Expired is the number of rows that were left out because they have expired.
	Expired int64 `json:"expired_rows"`
	// Replaced is the number of tables that the restore replaced.
	Replaced int `json:"replaced"`
	// Complete lists tables that an earlier restore of this backup had completed.
	Complete []string `json:"already_complete,omitempty"`
	// LeftOut lists the server's own tables, which are not restored.
	LeftOut []string `json:"left_out,omitempty"`
	// Removed lists tables that earlier runs of this restore had left. Leftovers lists the tables of other restores.
	Removed   []string `json:"leftovers_removed,omitempty"`
	Leftovers []string `json:"leftovers,omitempty"`
}

// Restore restores a backup, or a part of it, into a cluster with any number of shards. If it
// fails, or its process ends, it may be called again for the same backup: complete tables stay, and
// the others are restored from the beginning.
func (r *Repository) Restore(ctx context.Context, cfg RestoreConfig) (*RestoreResult, error) {
	if cfg.Parallel <= 0 {
		cfg.Parallel = 4
	}
	if cfg.Progress == nil {
		cfg.Progress = &Progress{}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if held, err := r.lock(ctx, lockRead); err == nil {
		defer held.release()
	} else if errors.Is(err, ErrBusy) {
		return nil, err
	} else {
		// The repository may be read-only. Then no process can remove files from it either, so no lock is needed.
		cfg.Logger.Debug("the repository could not be locked", "error", err)
	}
	b, err := r.Find(ctx, cfg.Backup)
	if err != nil {
		return nil, err
	}
	s := &restoration{
		r: r, cfg: cfg, b: b, out: &RestoreResult{Backup: b.Id}, byID: map[uint64]*restoredTable{},
		options: map[string]map[string]string{},
	}
	if err := s.plan(ctx); err != nil {
		return nil, err
	}
	if err := s.createMetadata(ctx); err != nil {
		return s.out, err
	}
	if !cfg.MetadataOnly {
		defer cfg.Target.onRetry(s.retrying)()
		if err := s.rows(ctx); err != nil {
			return s.out, err
		}
	}
	return s.out, s.replace(ctx)
}

// restoration is one run of Restore.
type restoration struct {
	r   *Repository
	cfg RestoreConfig
	b   *backuppb.Backup

	databases []*schemapb.Database
	options   map[string]map[string]string // by database
	tables    []*restoredTable             // the tables to fill
	byID      map[uint64]*restoredTable    // by their id in the backup
	pipelines []*backuppb.Pipeline
	saved     []*backuppb.Saved
	asides    []*restoredTable  // the tables that replace others
	leftovers []*schemapb.Table // tables of earlier restores, which are dropped

	mu  sync.Mutex // guards out
	out *RestoreResult
}

// restoredTable is a table of the backup and the state of its restore.
type restoredTable struct {
	from *schemapb.Table
	// as is the name of the table in the cluster while it is filled.
	as string
	// replaced is the origin of the table that this one replaces, or 0.
	replaced uint64
	// had is the incomplete table that an earlier run of this restore created.
	had *schemapb.Table
	// to is the table in the cluster.
	to *schema.Table

	rowsState
	merging
}

func (t *restoredTable) name() string { return schema.FormatTableName(t.from.Database, t.from.Name) }

// readMetadata reads databases, tables and pipelines from the backup.
func (s *restoration) readMetadata(ctx context.Context) ([]*schemapb.Table, error) {
	name := s.b.Metadata.Name
	raw, err := readSmall(ctx, s.r.store, name, maxMetadata)
	if err != nil {
		return nil, fmt.Errorf("backup %s: %w", s.b.Id, err)
	}
	if sum := sha256.Sum256(raw); !bytes.Equal(sum[:], s.b.Metadata.Sha256) {
		return nil, fmt.Errorf("backup %s: %s is damaged: SHA-256 is %x, but %x was written", s.b.Id, name, sum,
			s.b.Metadata.Sha256)
	}
	var tables []*schemapb.Table
	err = readMetadata(raw, func(rec *backuppb.Record) error {
		switch of := rec.Of.(type) {
		case *backuppb.Record_Database:
			s.databases = append(s.databases, of.Database)
			s.options[of.Database.Name] = of.Database.Options
		case *backuppb.Record_Table:
			tables = append(tables, of.Table)
		case *backuppb.Record_Pipeline:
			s.pipelines = append(s.pipelines, of.Pipeline)
		case *backuppb.Record_Saved:
			s.saved = append(s.saved, of.Saved)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("backup %s: %s: %w", s.b.Id, name, err)
	}
	return tables, nil
}

// parallelProposals is the maximum number of concurrent commands to the metadata.
const parallelProposals = 32

// proposeWait is the time for which a command is retried while the metadata cannot be reached.
const proposeWait = time.Minute

// propose proposes a command, and retries it if the outcome is unknown. Commands of a restore may be applied twice,
// except the creation of a table; see makeTable.
func (s *restoration) propose(ctx context.Context, at int64, cmd *metapb.Command) (*metapb.Result, error) {
	cmd.TimeUnixNano = at
	give := time.Now().Add(proposeWait)
	for pause := 200 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		result, err := s.cfg.Target.meta.Propose(ctx, cmd)
		if err == nil || errs.From(err).Status() < 500 || ctx.Err() != nil || time.Now().Add(pause).After(give) {
			return result, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// restoreSaved stores the saved objects of users, unless a newer version exists. It is skipped if pipelines are.
func (s *restoration) restoreSaved(ctx context.Context, now int64) error {
	if s.cfg.NoPipelines {
		return nil
	}
	for _, saved := range s.saved {
		_, err := s.propose(ctx, now, &metapb.Command{Op: &metapb.Command_RestoreSaved{RestoreSaved: &metapb.RestoreSaved{
			Saved: proto.CloneOf(saved.Saved), Value: saved.Value,
		}}})
		if err != nil {
			return fmt.Errorf("restore the saved %s %s: %w", saved.Saved.GetKind(), saved.Saved.GetName(), err)
		}
		s.out.Saved++
	}
	return nil
}

// createMetadata creates databases, tables and pipelines.
func (s *restoration) createMetadata(ctx context.Context) error {
	now := s.cfg.Now().UnixNano()
	for _, d := range s.databases {
		_, err := s.propose(ctx, cmp.Or(d.CreatedUnixNano, now),
			&metapb.Command{Op: &metapb.Command_CreateDatabase{CreateDatabase: &metapb.CreateDatabase{
				Name: d.Name, IfNotExists: true, Options: schema.WithoutQuotas(d.Options),
			}}})
		if err != nil {
			return fmt.Errorf("create database %s: %w", d.Name, err)
		}
		s.out.Databases++
	}
	if !s.cfg.NoPipelines {
		for _, p := range s.pipelines {
			_, err := s.propose(ctx, now,
				&metapb.Command{Op: &metapb.Command_RestorePipeline{RestorePipeline: &metapb.RestorePipeline{
					Pipeline: proto.CloneOf(p.Version), Source: p.Source,
				}}})
			if err != nil {
				return fmt.Errorf("store pipeline %s: %w", p.Version.GetName(), err)
			}
			s.out.Pipelines++
		}
	}
	if err := s.restoreSaved(ctx, now); err != nil {
		return err
	}
	if err := s.dropLeftovers(ctx); err != nil {
		return err
	}
	// A physical table must exist before the logical tables whose rows it contains.
	first, second := []*schemapb.Table{}, []*schemapb.Table{}
	for _, t := range s.tables {
		if t.from.Options[schema.OptionPhysicalTable] == "" {
			first = append(first, t.from)
		} else {
			second = append(second, t.from)
		}
	}
	if err := s.each(ctx, first, s.makeTable); err != nil {
		return err
	}
	return s.each(ctx, second, s.makeTable)
}

// each calls f for the tables, several at a time.
func (s *restoration) each(
	ctx context.Context, tables []*schemapb.Table, f func(context.Context, *schemapb.Table) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelProposals)
	for _, t := range tables {
		group.Go(func() error {
			if err := f(ctx, t); err != nil {
				return fmt.Errorf("table %s.%s: %w", t.Database, t.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// makeTable creates the table, or empties the table that an earlier run has created.
func (s *restoration) makeTable(ctx context.Context, from *schemapb.Table) error {
	rt := s.byID[from.Id]
	options := rt.options(rt.now)
	if rt.had != nil && rt.changes && !sameMerging(rt.had.Options, options) {
		// Append mode cannot be switched off, so emptying the table is not enough.
		_, err := s.propose(ctx, s.cfg.Now().UnixNano(),
			&metapb.Command{
				Op: &metapb.Command_DropTable{DropTable: &metapb.DropTable{Database: from.Database, Name: rt.as, IfExists: true}},
			})
		if err != nil {
			return fmt.Errorf("drop the table of the earlier run: %w", err)
		}
		rt.had = nil
	}
	cmd := &metapb.Command{
		Op: &metapb.Command_TruncateTable{TruncateTable: &metapb.TruncateTable{Database: from.Database, Name: rt.as}},
	}
	if rt.had == nil {
		cmd.Op = &metapb.Command_CreateTable{CreateTable: &metapb.CreateTable{Table: s.newTable(rt, options)}}
	}
	result, err := s.propose(ctx, cmp.Or(from.CreatedUnixNano, s.cfg.Now().UnixNano()), cmd)
	if errs.CodeOf(err) == errs.TableAlreadyExists {
		t, ok := s.cfg.Target.meta.Table(from.Database, rt.as)
		if !ok || t.Restored == nil || t.Restored.BackupID != s.b.Id || t.Restored.Complete {
			return fmt.Errorf("another client created it meanwhile: %w", err)
		}
		// An earlier try of this restore created it, and the answer was lost.
		result, err = &metapb.Result{Tables: []*schemapb.Table{t.ToProto()}}, nil
	}
	if err != nil {
		return err
	}
	if len(result.Tables) != 1 {
		return errors.New("the metadata did not return the created table")
	}
	rt.to = schema.FromProto(result.Tables[0])
	s.mu.Lock()
	s.out.Tables++
	s.mu.Unlock()
	return nil
}

// newTable returns the definition of the table to create for a table of the backup.
func (s *restoration) newTable(rt *restoredTable, options map[string]string) *schemapb.Table {
	t := &schemapb.Table{Database: rt.from.Database, Name: rt.as, Options: options}
	if !s.cfg.MetadataOnly || s.cfg.Existing == Replace {
		// Until the table is complete, it accepts no rows of other clients, so that it may be emptied.
		t.Restored = &schemapb.Restored{BackupId: s.b.Id}
	}
	if rt.as != rt.from.Name {
		t.Restored.Replaces = rt.from.Name
	}
	for _, c := range rt.from.Columns {
		c := proto.CloneOf(c)
		c.Id = 0
		t.Columns = append(t.Columns, c)
	}
	return t
}

// complete records in the metadata that the table has all its rows.
func (s *restoration) complete(ctx context.Context, t *restoredTable) error {
	if err := s.settle(ctx, t); err != nil {
		return fmt.Errorf("table %s: %w", t.name(), err)
	}
	_, err := s.propose(ctx, s.cfg.Now().UnixNano(),
		&metapb.Command{Op: &metapb.Command_AlterTable{AlterTable: &metapb.AlterTable{
			Database: t.from.Database, Name: t.as, Change: &metapb.AlterTable_RestoreComplete{RestoreComplete: true},
		}}})
	if err != nil {
		return fmt.Errorf("table %s: record that it is complete: %w", t.name(), err)
	}
	return nil
}
