begin;
select plan(13);

select is(dispatch.read_payload(null), '{}'::jsonb, 'no text is an empty object');
select is(
    dispatch.read_payload('{"a": {"b": [1, "x"]}}'), '{"a": {"b": [1, "x"]}}'::jsonb,
    'an object is itself'
);
select is(
    dispatch.read_payload('{"a": 1, "a": 2}'), '{"a": 2}'::jsonb,
    'the last of equal keys counts'
);
select is(
    dispatch.read_payload('not json'), '"not json"'::jsonb, 'T7: what is no JSON is a text'
);
select is(dispatch.read_payload(''), '""'::jsonb, 'T7: an empty text is an empty text');
select is(dispatch.read_payload('[1]'), '"[1]"'::jsonb, 'T7: an array is a text');
select is(dispatch.read_payload('"x"'), to_jsonb('"x"'::text), 'T7: a JSON string is a text');
select is(dispatch.read_payload('42'), '"42"'::jsonb, 'a number is a text');
select is(dispatch.read_payload('null'), '"null"'::jsonb, 'so is the word null');
select is(
    dispatch.read_payload('{"a": "\u0000"}'), to_jsonb('{"a": "\u0000"}'::text),
    'an object that the server cannot store is a text'
);
select is(
    dispatch.read_payload('{"a": "\ud800"}'), to_jsonb('{"a": "\ud800"}'::text),
    'so is half a surrogate pair'
);
select is(
    jsonb_typeof(dispatch.read_payload(repeat('[', 100000))), 'string',
    'and text that nests too deep'
);
select is(
    dispatch.read_payload('{"a": ' || repeat('9', 200000) || '}') is not null, true,
    'and a number beyond all limits'
);

select * from finish();
rollback;
