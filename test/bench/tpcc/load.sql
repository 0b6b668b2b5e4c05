-- The nine tables of TPC-C, by the specification's description of columns and
-- population, without foreign keys.  psql variables: ff (fillfactor of all
-- tables), warehouses, items (100000), customers (per district, 3000).

SET synchronous_commit = off;
SELECT setseed(0.5);

-- 72 random characters
CREATE FUNCTION piece() RETURNS text LANGUAGE sql VOLATILE
RETURN left(encode(sha512(random()::text::bytea), 'base64'), 72);

CREATE FUNCTION pick(low integer, high integer) RETURNS integer LANGUAGE sql VOLATILE
RETURN low + floor(random() * (high - low + 1))::integer;

-- the last name that belongs to a number from 0 to 999
CREATE FUNCTION last_name(n integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT s[1 + n / 100] || s[1 + n / 10 % 10] || s[1 + n % 10]
  FROM (VALUES (ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'])) v (s)
$$;

CREATE TABLE warehouse (
    w_id integer, w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20),
    w_state char(2), w_zip char(9), w_tax numeric(4, 4), w_ytd numeric(12, 2)
) WITH (fillfactor = :ff);

CREATE TABLE district (
    d_id integer, d_w_id integer, d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20),
    d_city varchar(20), d_state char(2), d_zip char(9), d_tax numeric(4, 4), d_ytd numeric(12, 2), d_next_o_id integer
) WITH (fillfactor = :ff);

CREATE TABLE customer (
    c_id integer, c_d_id integer, c_w_id integer, c_first varchar(16), c_middle char(2), c_last varchar(16),
    c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20), c_state char(2), c_zip char(9),
    c_phone char(16), c_since timestamp, c_credit char(2), c_credit_lim numeric(12, 2), c_discount numeric(4, 4),
    c_balance numeric(12, 2), c_ytd_payment numeric(12, 2), c_payment_cnt integer, c_delivery_cnt integer,
    c_data varchar(500)
) WITH (fillfactor = :ff);

CREATE TABLE history (
    h_c_id integer, h_c_d_id integer, h_c_w_id integer, h_d_id integer, h_w_id integer, h_date timestamp,
    h_amount numeric(6, 2), h_data varchar(24)
) WITH (fillfactor = :ff);

CREATE TABLE new_order (no_o_id integer, no_d_id integer, no_w_id integer) WITH (fillfactor = :ff);

CREATE TABLE orders (
    o_id integer, o_d_id integer, o_w_id integer, o_c_id integer, o_entry_d timestamp, o_carrier_id integer,
    o_ol_cnt integer, o_all_local integer
) WITH (fillfactor = :ff);

CREATE TABLE order_line (
    ol_o_id integer, ol_d_id integer, ol_w_id integer, ol_number integer, ol_i_id integer, ol_supply_w_id integer,
    ol_delivery_d timestamp, ol_quantity integer, ol_amount numeric(6, 2), ol_dist_info char(24)
) WITH (fillfactor = :ff);

CREATE TABLE item (
    i_id integer, i_im_id integer, i_name varchar(24), i_price numeric(5, 2), i_data varchar(50)
) WITH (fillfactor = :ff);

CREATE TABLE stock (
    s_i_id integer, s_w_id integer, s_quantity integer,
    s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24), s_dist_05 char(24),
    s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24), s_dist_10 char(24),
    s_ytd integer, s_order_cnt integer, s_remote_cnt integer, s_data varchar(50)
) WITH (fillfactor = :ff);

INSERT INTO item
SELECT i, pick(1, 10000), left(piece(), pick(14, 24)), pick(100, 10000) / 100.0,
       CASE WHEN random() < 0.1 THEN 'ORIGINAL' ELSE '' END || left(piece(), pick(26, 42))
  FROM generate_series(1, :items) i;

INSERT INTO warehouse
SELECT w, left(piece(), pick(6, 10)), left(piece(), pick(10, 20)), left(piece(), pick(10, 20)),
       left(piece(), pick(10, 20)),
       'XY', lpad(pick(0, 9999)::text, 4, '0') || '11111', pick(0, 2000) / 10000.0, 300000
  FROM generate_series(1, :warehouses) w;

INSERT INTO district
SELECT d, w, left(piece(), pick(6, 10)), left(piece(), pick(10, 20)), left(piece(), pick(10, 20)),
       left(piece(), pick(10, 20)),
       'XY', lpad(pick(0, 9999)::text, 4, '0') || '11111', pick(0, 2000) / 10000.0, 30000, :customers + 1
  FROM generate_series(1, :warehouses) w, generate_series(1, 10) d
 ORDER BY w, d;

INSERT INTO stock
SELECT i, w, pick(10, 100), substr(a, 1, 24), substr(a, 25, 24), substr(a, 49, 24),
       substr(b, 1, 24), substr(b, 25, 24), substr(b, 49, 24), substr(c, 1, 24), substr(c, 25, 24), substr(c, 49, 24),
       substr(d, 1, 24), 0, 0, 0,
       CASE WHEN random() < 0.1 THEN 'ORIGINAL' ELSE '' END || left(piece(), pick(26, 42))
  FROM (SELECT w, i, piece() AS a, piece() AS b, piece() AS c, piece() AS d
          FROM generate_series(1, :warehouses) w, generate_series(1, :items) i
         ORDER BY w, i OFFSET 0) x;

-- the first 1,000 customers of a district have all the names, the others random ones
INSERT INTO customer
SELECT c, d, w, left(piece(), pick(8, 16)), 'OE',
       last_name(CASE WHEN c <= 1000 THEN c - 1 ELSE ((pick(0, 255) | pick(0, 999)) + 157) % 1000 END),
       left(piece(), pick(10, 20)), left(piece(), pick(10, 20)), left(piece(), pick(10, 20)), 'XY',
       lpad(pick(0, 9999)::text, 4, '0') || '11111', lpad(pick(0, 999999999)::text, 16, '0'), now(),
       CASE WHEN random() < 0.1 THEN 'BC' ELSE 'GC' END, 50000, pick(0, 5000) / 10000.0, -10, 10, 1, 0,
       left(piece() || piece() || piece() || piece() || piece() || piece() || piece(), pick(300, 500))
  FROM (SELECT w, d, c
          FROM generate_series(1, :warehouses) w, generate_series(1, 10) d, generate_series(1, :customers) c
         ORDER BY w, d, c) x;

INSERT INTO history
SELECT c_id, c_d_id, c_w_id, c_d_id, c_w_id, now(), 10, left(piece(), pick(12, 24)) FROM customer;

-- an order for each customer, in random order; the last 30 % are not delivered yet
INSERT INTO orders
SELECT o, d, w, c, now(), CASE WHEN o <= :customers * 7 / 10 THEN pick(1, 10) END, pick(5, 15), 1
  FROM (SELECT w, d, c, row_number() OVER (PARTITION BY w, d ORDER BY random()) AS o
          FROM generate_series(1, :warehouses) w, generate_series(1, 10) d, generate_series(1, :customers) c) x
 ORDER BY w, d, o;

INSERT INTO order_line
SELECT o_id, o_d_id, o_w_id, l, pick(1, :items), o_w_id, CASE WHEN o_carrier_id IS NOT NULL THEN o_entry_d END,
       5, CASE WHEN o_carrier_id IS NOT NULL THEN 0 ELSE pick(1, 999999) / 100.0 END, left(piece(), 24)
  FROM orders, generate_series(1, o_ol_cnt) l;

INSERT INTO new_order SELECT o_id, o_d_id, o_w_id FROM orders WHERE o_carrier_id IS NULL;

ALTER TABLE warehouse ADD PRIMARY KEY (w_id);
ALTER TABLE district ADD PRIMARY KEY (d_w_id, d_id);
ALTER TABLE customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id);
ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id);
ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id);
ALTER TABLE order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
ALTER TABLE item ADD PRIMARY KEY (i_id);
ALTER TABLE stock ADD PRIMARY KEY (s_w_id, s_i_id);
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first);
CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
