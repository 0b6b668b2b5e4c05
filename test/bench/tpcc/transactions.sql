-- The five transactions of TPC-C, by the specification's description.  The
-- terminal's random choices are made in the pgbench scripts beside this file.

-- False: one of the items does not exist, so roll back.
CREATE FUNCTION new_order(w integer, d integer, c integer, items integer[], supply integer[], quantity integer[])
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    order_id integer;
    tax_w numeric;
    tax_d numeric;
    discount numeric;
    total numeric := 0;
    price numeric;
    dist text;
    line record;
BEGIN
    SELECT w_tax INTO tax_w FROM warehouse WHERE w_id = w;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d
    RETURNING d_next_o_id - 1, d_tax INTO order_id, tax_d;
    SELECT c_discount INTO discount FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    INSERT INTO orders VALUES (order_id, d, w, c, now(), NULL, cardinality(items), (w = ALL (supply))::integer);
    INSERT INTO new_order VALUES (order_id, d, w);
    -- rows of stock are locked in one order by everybody
    FOR line IN
        SELECT u.i, u.s, u.q, u.n FROM unnest(items, supply, quantity) WITH ORDINALITY u (i, s, q, n) ORDER BY u.s, u.i
    LOOP
        SELECT i_price INTO price FROM item WHERE i_id = line.i;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        UPDATE stock
           SET s_quantity = s_quantity - line.q + CASE WHEN s_quantity >= line.q + 10 THEN 0 ELSE 91 END,
               s_ytd = s_ytd + line.q, s_order_cnt = s_order_cnt + 1,
               s_remote_cnt = s_remote_cnt + (line.s <> w)::integer
         WHERE s_w_id = line.s AND s_i_id = line.i
        RETURNING CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                         WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                         WHEN 9 THEN s_dist_09 ELSE s_dist_10 END INTO dist;
        INSERT INTO order_line VALUES (order_id, d, w, line.n, line.i, line.s, NULL, line.q, line.q * price, dist);
        total := total + line.q * price;
    END LOOP;
    total := total * (1 - discount) * (1 + tax_w + tax_d);
    RETURN true;
END $$;

-- The customer meant by a number, or the middle one of those with a last name.
CREATE FUNCTION the_customer(w integer, d integer, c integer, name text) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    ids integer[];
BEGIN
    IF name IS NULL THEN
        RETURN c;
    END IF;
    SELECT array_agg(c_id ORDER BY c_first) INTO ids FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = name;
    RETURN ids[(cardinality(ids) + 1) / 2];
END $$;

CREATE FUNCTION payment(w integer, d integer, cw integer, cd integer, c integer, name text, amount numeric)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    id integer;
    names text;
    more text;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w RETURNING w_name INTO names;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d RETURNING d_name INTO more;
    id := the_customer(cw, cd, c, name);
    -- of a customer with bad credit, the note of the payment is put before the data
    UPDATE customer
       SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount, c_payment_cnt = c_payment_cnt + 1,
           c_data = CASE WHEN c_credit = 'BC' THEN left(concat_ws(' ', id, cd, cw, d, w, amount) || c_data, 500)
                         ELSE c_data END
     WHERE c_w_id = cw AND c_d_id = cd AND c_id = id;
    INSERT INTO history VALUES (id, cd, cw, d, w, now(), amount, names || '    ' || more);
END $$;

CREATE FUNCTION order_status(w integer, d integer, c integer, name text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    id integer := the_customer(w, d, c, name);
    balance numeric;
    last_order integer;
    lines bigint;
BEGIN
    SELECT c_balance INTO balance FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = id;
    SELECT o_id INTO last_order FROM orders WHERE o_w_id = w AND o_d_id = d AND o_c_id = id ORDER BY o_id DESC LIMIT 1;
    SELECT count(ol_amount) INTO lines FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = last_order;
    RETURN lines;
END $$;

-- The oldest order of each district that nobody else is delivering; how many.
CREATE FUNCTION delivery(w integer, carrier integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    o integer;
    c integer;
    total numeric;
    done integer := 0;
BEGIN
    FOR d IN 1..10 LOOP
        SELECT no_o_id INTO o FROM new_order
         WHERE no_w_id = w AND no_d_id = d ORDER BY no_o_id LIMIT 1 FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = o;
        UPDATE orders SET o_carrier_id = carrier
         WHERE o_w_id = w AND o_d_id = d AND o_id = o RETURNING o_c_id INTO c;
        WITH l AS (
            UPDATE order_line SET ol_delivery_d = now()
             WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o RETURNING ol_amount
        )
        SELECT sum(ol_amount) INTO total FROM l;
        UPDATE customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
         WHERE c_w_id = w AND c_d_id = d AND c_id = c;
        done := done + 1;
    END LOOP;
    RETURN done;
END $$;

-- Items of a district's last 20 orders of which little is left.
CREATE FUNCTION stock_level(w integer, d integer, threshold integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    next_order integer;
    low bigint;
BEGIN
    SELECT d_next_o_id INTO next_order FROM district WHERE d_w_id = w AND d_id = d;
    SELECT count(DISTINCT s_i_id) INTO low
      FROM order_line JOIN stock ON s_w_id = w AND s_i_id = ol_i_id
     WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id >= next_order - 20 AND ol_o_id < next_order
       AND s_quantity < threshold;
    RETURN low;
END $$;
