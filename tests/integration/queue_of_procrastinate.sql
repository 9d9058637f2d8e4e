-- The queue's tables as version 0.4.0 made them with Procrastinate 3.10, as pg_dump writes them; what no test touches is left out.

CREATE SCHEMA jobs;

CREATE TYPE jobs.procrastinate_job_event_type AS ENUM (
    'deferred',
    'started',
    'deferred_for_retry',
    'failed',
    'succeeded',
    'cancelled',
    'abort_requested',
    'aborted',
    'scheduled',
    'retried'
);

CREATE TYPE jobs.procrastinate_job_status AS ENUM (
    'todo',
    'doing',
    'succeeded',
    'failed',
    'cancelled',
    'aborting',
    'aborted'
);

CREATE TABLE jobs.procrastinate_jobs (
    id bigint NOT NULL,
    queue_name character varying(128) NOT NULL,
    task_name character varying(128) NOT NULL,
    priority integer DEFAULT 0 NOT NULL,
    lock text,
    queueing_lock text,
    args jsonb DEFAULT '{}'::jsonb NOT NULL,
    status jobs.procrastinate_job_status DEFAULT 'todo'::jobs.procrastinate_job_status NOT NULL,
    scheduled_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    abort_requested boolean DEFAULT false NOT NULL,
    worker_id bigint,
    CONSTRAINT check_not_todo_abort_requested CHECK ((NOT ((status = 'todo'::jobs.procrastinate_job_status) AND (abort_requested = true))))
);

CREATE FUNCTION jobs.procrastinate_notify_queue_job_inserted_v1() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'jobs', 'pg_temp'
    AS $$
DECLARE
    payload TEXT;
BEGIN
    SELECT json_build_object('type', 'job_inserted', 'job_id', NEW.id)::text INTO payload;
	PERFORM pg_notify('procrastinate_queue_v1#' || NEW.queue_name, payload);
	PERFORM pg_notify('procrastinate_any_queue_v1', payload);
	RETURN NEW;
END;
$$;

CREATE FUNCTION jobs.procrastinate_unlink_periodic_defers_v1() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'jobs', 'pg_temp'
    AS $$
BEGIN
    UPDATE procrastinate_periodic_defers
    SET job_id = NULL
    WHERE job_id = OLD.id;
    RETURN OLD;
END;
$$;

CREATE TABLE jobs.procrastinate_events (
    id bigint NOT NULL,
    job_id bigint NOT NULL,
    type jobs.procrastinate_job_event_type,
    at timestamp with time zone DEFAULT now()
);

CREATE SEQUENCE jobs.procrastinate_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE jobs.procrastinate_events_id_seq OWNED BY jobs.procrastinate_events.id;

CREATE SEQUENCE jobs.procrastinate_jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE jobs.procrastinate_jobs_id_seq OWNED BY jobs.procrastinate_jobs.id;

CREATE TABLE jobs.procrastinate_periodic_defers (
    id bigint NOT NULL,
    task_name character varying(128) NOT NULL,
    defer_timestamp bigint,
    job_id bigint,
    periodic_id character varying(128) DEFAULT ''::character varying NOT NULL
);

CREATE SEQUENCE jobs.procrastinate_periodic_defers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE jobs.procrastinate_periodic_defers_id_seq OWNED BY jobs.procrastinate_periodic_defers.id;

CREATE TABLE jobs.procrastinate_workers (
    id bigint NOT NULL,
    last_heartbeat timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE jobs.procrastinate_workers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME jobs.procrastinate_workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY jobs.procrastinate_events ALTER COLUMN id SET DEFAULT nextval('jobs.procrastinate_events_id_seq'::regclass);

ALTER TABLE ONLY jobs.procrastinate_jobs ALTER COLUMN id SET DEFAULT nextval('jobs.procrastinate_jobs_id_seq'::regclass);

ALTER TABLE ONLY jobs.procrastinate_periodic_defers ALTER COLUMN id SET DEFAULT nextval('jobs.procrastinate_periodic_defers_id_seq'::regclass);

ALTER TABLE ONLY jobs.procrastinate_events
    ADD CONSTRAINT procrastinate_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY jobs.procrastinate_jobs
    ADD CONSTRAINT procrastinate_jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY jobs.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY jobs.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_unique UNIQUE (task_name, periodic_id, defer_timestamp);

ALTER TABLE ONLY jobs.procrastinate_workers
    ADD CONSTRAINT procrastinate_workers_pkey PRIMARY KEY (id);

CREATE INDEX muniment_jobs_by_time ON jobs.procrastinate_jobs USING btree (queue_name, COALESCE(scheduled_at, '-infinity'::timestamp with time zone)) WHERE ((status = 'todo'::jobs.procrastinate_job_status) AND ((queue_name)::text <> 'extract'::text));

CREATE INDEX muniment_jobs_in_order ON jobs.procrastinate_jobs USING btree (lock, priority DESC, id) WHERE ((status = 'todo'::jobs.procrastinate_job_status) AND ((queue_name)::text = 'extract'::text));

CREATE UNIQUE INDEX procrastinate_jobs_lock_idx_v1 ON jobs.procrastinate_jobs USING btree (lock) WHERE (status = 'doing'::jobs.procrastinate_job_status);

CREATE UNIQUE INDEX procrastinate_jobs_queueing_lock_idx_v1 ON jobs.procrastinate_jobs USING btree (queueing_lock) WHERE (status = 'todo'::jobs.procrastinate_job_status);

CREATE TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1 AFTER INSERT ON jobs.procrastinate_jobs FOR EACH ROW WHEN ((new.status = 'todo'::jobs.procrastinate_job_status)) EXECUTE FUNCTION jobs.procrastinate_notify_queue_job_inserted_v1();

CREATE TRIGGER procrastinate_trigger_delete_jobs_v1 BEFORE DELETE ON jobs.procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION jobs.procrastinate_unlink_periodic_defers_v1();

ALTER TABLE ONLY jobs.procrastinate_events
    ADD CONSTRAINT procrastinate_events_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs.procrastinate_jobs(id) ON DELETE CASCADE;

ALTER TABLE ONLY jobs.procrastinate_jobs
    ADD CONSTRAINT procrastinate_jobs_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES jobs.procrastinate_workers(id) ON DELETE SET NULL;

ALTER TABLE ONLY jobs.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs.procrastinate_jobs(id);

GRANT USAGE ON SCHEMA jobs TO muniment_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE jobs.procrastinate_jobs TO muniment_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE jobs.procrastinate_events TO muniment_app;

GRANT SELECT,USAGE ON SEQUENCE jobs.procrastinate_events_id_seq TO muniment_app;

GRANT SELECT,USAGE ON SEQUENCE jobs.procrastinate_jobs_id_seq TO muniment_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE jobs.procrastinate_periodic_defers TO muniment_app;

GRANT SELECT,USAGE ON SEQUENCE jobs.procrastinate_periodic_defers_id_seq TO muniment_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE jobs.procrastinate_workers TO muniment_app;

GRANT SELECT,USAGE ON SEQUENCE jobs.procrastinate_workers_id_seq TO muniment_app;
