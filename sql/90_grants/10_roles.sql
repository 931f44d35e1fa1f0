-- Roles belong to the whole server. Each is made only where it is missing, so that an
-- administrator may make them beforehand for a migrator that may not. Two databases of one
-- server may be migrated at once: whoever comes second finds the role made.
do $do$
declare
    v_role record;
begin
    for v_role in
        select r.name, r.purpose
        from (
            values
                ('dispatch_owner', 'Owns schema dispatch; its functions act as it.'),
                ('dispatch_service', 'Writes issues, wakes and the directory, and reads.'),
                ('dispatch_worker', 'Claims runs and reports on them.'),
                ('dispatch_operator', 'Steps in by hand, and reads.'),
                ('dispatch_reader', 'Reads the views.')
        ) as r (name, purpose)
        where not exists (select from pg_catalog.pg_roles as p where p.rolname = r.name)
    loop
        begin
            -- A role's name and comment cannot be parameters of these statements.
            execute format('create role %I nologin', v_role.name);
            -- A role's name and comment cannot be parameters of these statements.
            execute format('comment on role %I is %L', v_role.name, v_role.purpose);
        exception
            when duplicate_object or unique_violation then
                null;
        end;
    end loop;
end;
$do$;

-- Giving objects to a role takes membership in it. A superuser has that without a grant; a
-- migrator that made the role itself has from 16 on only the right to grant it, hence the
-- second question.
do $do$
declare
    v_is_member boolean := pg_has_role(current_user, 'dispatch_owner', 'usage');
begin
    if v_is_member and current_setting('server_version_num')::integer >= 160000 then
        v_is_member := pg_has_role(current_user, 'dispatch_owner', 'set');
    end if;
    if not v_is_member then
        grant dispatch_owner to current_user;
    end if;
end;
$do$;
